// Carries one request that is no call of a tool to one server, over the connection of whoever asks, and its answer back.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Lease } from '../connection/lease.ts';
import type { Caller } from '../identity/caller.ts';
import type { Shaper } from '../result/shape.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { JsonObject } from '../wire/reply.ts';
import { askServer, named, type OnBehalf, startServerTimer } from './ask-server.ts';
import type { Answer } from './operations.ts';
import type { WithUpstream } from './with-upstream.ts';

/** A request in the server's own words. */
export interface Forwarded extends OnBehalf {
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
    const { method, params, name, era, needs, without } = request;
    const timer = startServerTimer(clock, server, request);
    const use = async ({ connection }: Lease): Promise<Answer> => {
      if (needs !== undefined && connection.capabilities[needs] === undefined) {
        if (without !== undefined) return { kind: 'result', result: without };
        throw new ProxyError('not_found', `${server.name} offers no ${needs}.`);
      }
      if (request.isOfOneEra === true && connection.era !== era) return NO_METHOD;
      const reply = await askServer(connection, { method, params, name }, request, timer, signal);
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
