// The path of one call: which tool, with whose key, over which connection, and what may come back.
// Read this file first.
import type { Catalog } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/tool.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { UpstreamRequest } from '../connection/connection.ts';
import { requireOpen } from '../policy/gate.ts';
import type { Shaper } from '../result/shape.ts';
import type { Clock } from '../shared/clock.ts';
import { startTimer, type Timer } from '../shared/deadline.ts';
import { type ErrorCode, ProxyError } from '../shared/errors.ts';
import { paramHeaderValues } from '../wire/headers.ts';
import type { ConnectTool } from './connect-tool.ts';
import type { Answer, Call, CallTool } from './operations.ts';
import type { WithUpstream } from './with-upstream.ts';

export interface CallToolDeps {
  readonly catalog: Catalog;
  readonly connect: ConnectTool;
  readonly withUpstream: WithUpstream;
  readonly shaper: Shaper;
  readonly clock: Clock;
}

/** Progress restarts a call's timeout, but nothing runs longer than this. */
const CEILING_MS = 10 * 60_000;

export function createCallTool({ catalog, connect, withUpstream, shaper, clock }: CallToolDeps): CallTool {
  return async (caller, call, signal) => {
    const found = catalog.find(caller, call.scope, call.name, signal);
    const target = found instanceof Promise ? await found : found;
    if (target === undefined)
      throw new ProxyError(
        'not_found',
        `There is no tool ${JSON.stringify(call.name.slice(0, 128))}; list the tools again.`,
      );
    const { server } = target;
    if (target.kind === 'connect') return connect(caller, server, call, signal);
    const { tool } = target;
    requireOpen(server, tool);

    const timer = startTimer(clock, server.timeoutMs, Math.max(server.timeoutMs, CEILING_MS), () =>
      call.abort(tooLate(server)),
    );
    try {
      return await withUpstream(server, caller.principalId, signal, async ({ connection }): Promise<Answer> => {
        const reply = await connection.request(toRequest(call, tool, timer, signal));
        return { kind: 'reply', ...shaper.shape(reply, server, connection.era, call.era) };
      });
    } catch (error) {
      throw named(error, server);
    } finally {
      timer.end();
    }
  };
}

const OF_THE_SERVER: ReadonlySet<ErrorCode> = new Set([
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_protocol',
]);

/** Of many servers behind one endpoint the agent should know which one it was. */
function named(error: unknown, server: UpstreamServer): unknown {
  if (!(error instanceof ProxyError) || !OF_THE_SERVER.has(error.code)) return error;
  const message = error.message.includes(server.name) ? error.message : `${server.name}: ${error.message}`;
  return new ProxyError(error.code, message, { data: { server: server.name, ...error.data }, cause: error });
}

function toRequest(call: Call, tool: Tool, timer: Timer, signal: AbortSignal): UpstreamRequest {
  const { hearing } = call;
  return {
    method: 'tools/call',
    params: { ...call.params, name: tool.name },
    name: tool.name,
    paramHeaders:
      tool.paramHeaders.length === 0 ? undefined : paramHeaderValues(tool.paramHeaders, call.params['arguments']),
    progressToken: call.progressToken,
    // Only an agent of the same era can be asked: its answers pass through, and nothing is translated yet.
    capabilities: call.era === 'modern' ? call.capabilities : undefined,
    hearing: {
      message: (raw) => hearing.message(raw),
      flush: () => hearing.flush(),
      progress: () => timer.restart(),
    },
    signal,
  };
}

const tooLate = (server: UpstreamServer): ProxyError =>
  new ProxyError(
    'upstream_timeout',
    `${server.name} did not answer within ${server.timeoutMs} ms. The call may have run.`,
    { data: { timeoutMs: server.timeoutMs } },
  );
