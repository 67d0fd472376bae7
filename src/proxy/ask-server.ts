// One request of an agent to a server over a connection, within its time: who hears what comes meanwhile, what the server is
// told that the agent can do, and how the time and errors are told. For calls of tools and for everything else.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Connection, UpstreamRequest } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { startTimer, type Timer } from '../shared/deadline.ts';
import { type ErrorCode, ProxyError } from '../shared/errors.ts';
import type { Reply } from '../wire/reply.ts';
import { askForLog } from './log-levels.ts';
import type { Request } from './operations.ts';

/** Progress restarts a request's timeout, but nothing runs longer than this. */
const CEILING_MS = 10 * 60_000;

/** What of an agent's request goes along with it. */
export type OnBehalf = Pick<Request, 'era' | 'capabilities' | 'progressToken' | 'logLevel' | 'hearing' | 'abort'>;

/** Ends the request with `upstream_timeout` when its server's time is over; `end` must be called. */
export const startServerTimer = (clock: Clock, server: UpstreamServer, { abort }: Pick<OnBehalf, 'abort'>): Timer =>
  startTimer(clock, server.timeoutMs, Math.max(server.timeoutMs, CEILING_MS), () => abort(tooLate(server)));

const tooLate = (server: UpstreamServer): ProxyError =>
  new ProxyError(
    'upstream_timeout',
    `${server.name} did not answer within ${server.timeoutMs} ms. The call may have run.`,
    { data: { timeoutMs: server.timeoutMs } },
  );

/** Errors as in Connection.request. */
export function askServer(
  connection: Connection,
  asked: Pick<UpstreamRequest, 'method' | 'params' | 'name' | 'paramHeaders'>,
  { era, capabilities, progressToken, logLevel, hearing }: OnBehalf,
  timer: Timer,
  signal: AbortSignal,
): Promise<Reply> {
  const request: UpstreamRequest = {
    ...asked,
    progressToken,
    // Only an agent of the same era can be asked: its answers pass through, and nothing is translated yet.
    capabilities: era === 'modern' ? capabilities : undefined,
    hearing: {
      message: (raw) => hearing.message(raw),
      flush: () => hearing.flush(),
      progress: () => timer.restart(),
    },
    signal,
  };
  if (logLevel === undefined) return connection.request(request);
  return askForLog(connection, logLevel, signal).then(() => connection.request(request));
}

const OF_THE_SERVER: ReadonlySet<ErrorCode> = new Set([
  'egress_denied',
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_protocol',
]);

/** Of many servers behind one endpoint the agent should know which one it was. */
export function named(error: unknown, server: UpstreamServer): unknown {
  if (!(error instanceof ProxyError) || !OF_THE_SERVER.has(error.code)) return error;
  const message = error.message.includes(server.name) ? error.message : `${server.name}: ${error.message}`;
  return new ProxyError(error.code, message, { data: { server: server.name, ...error.data }, cause: error });
}
