// Carries one request that is no call of a tool to one server, over the connection of whoever asks, and its answer back.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Lease } from '../connection/lease.ts';
import type { Caller } from '../identity/caller.ts';
import type { Shaper } from '../result/shape.ts';
import type { Clock } from '../shared/clock.ts';
import { startTimer } from '../shared/deadline.ts';
import { ProxyError } from '../shared/errors.ts';
import type { JsonObject } from '../wire/reply.ts';
import { CEILING_MS, named, tooLate } from './call-tool.ts';
import { askForLog } from './log-levels.ts';
import type { Answer, Request } from './operations.ts';
import type { WithUpstream } from './with-upstream.ts';

/** A request in the server's own words. */
export interface Forwarded
  extends Pick<Request, 'era' | 'capabilities' | 'progressToken' | 'logLevel' | 'hearing' | 'abort'> {
  readonly method: string;
  readonly params: JsonObject;
  /** For `Mcp-Name`: a prompt's name or a resource's URI. */
  readonly name?: string | undefined;
  /** What the server must have said it can do; else `without` is the answer, or there is no such thing. */
  readonly needs?: string;
  readonly without?: JsonObject;
  /** Nobody knows how to say it in the other era: there it is no method at all. */
  readonly isOfOneEra?: boolean;
  /** A list, or something that is read: modern agents are told how long it keeps. */
  readonly isCacheable?: boolean;
}

export interface ForwardDeps {
  readonly withUpstream: WithUpstream;
  readonly shaper: Shaper;
  readonly clock: Clock;
}

/** Errors as `WithUpstream`; `upstream_timeout`; `not_found` for what the server cannot do; the signal's reason. */
export type Forward = (
  caller: Caller,
  server: UpstreamServer,
  request: Forwarded,
  signal: AbortSignal,
) => Promise<Answer>;

/** The answer to what is no method in the server's era. */
export const NO_METHOD: Answer = { kind: 'result', result: {} };

export function createForward({ withUpstream, shaper, clock }: ForwardDeps): Forward {
  return async (caller, server, request, signal) => {
    const { method, params, name, era, capabilities, progressToken, hearing, needs, without } = request;
    const timer = startTimer(clock, server.timeoutMs, Math.max(server.timeoutMs, CEILING_MS), () =>
      request.abort(tooLate(server)),
    );
    const use = async ({ connection }: Lease): Promise<Answer> => {
      if (needs !== undefined && connection.capabilities[needs] === undefined) {
        if (without !== undefined) return { kind: 'result', result: without };
        throw new ProxyError('not_found', `${server.name} offers no ${needs}.`);
      }
      if (request.logLevel !== undefined) await askForLog(connection, request.logLevel, signal);
      if (request.isOfOneEra === true && connection.era !== era) return NO_METHOD;
      const reply = await connection.request({
        method,
        params,
        name,
        progressToken,
        // Only an agent of the same era can be asked: its answers pass through, and nothing is translated yet.
        capabilities: era === 'modern' ? capabilities : undefined,
        hearing: {
          message: (raw) => hearing.message(raw),
          flush: () => hearing.flush(),
          progress: () => timer.restart(),
        },
        signal,
      });
      return {
        kind: 'reply',
        ...shaper.shapeOther(reply, server, connection.era, era, request.isCacheable ?? false),
      };
    };
    try {
      return await withUpstream(server, caller.principalId, signal, use);
    } catch (error) {
      throw named(error, server);
    } finally {
      timer.end();
    }
  };
}
