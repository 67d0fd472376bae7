// Which era a server speaks: asked once, remembered with a date. A wrong `modern` fails loudly; a wrong
// `legacy` would work for ever, which is why the verdict ages. (2026-07-28 §basic/versioning)
import { LRUCache } from 'lru-cache';
import type { Clock } from '../shared/clock.ts';
import { CredentialRefusedError, NotRunError, ProxyError } from '../shared/errors.ts';
import { type Implementation, writeRequest } from '../wire/envelope.ts';
import { MODERN_VERSION } from '../wire/era.ts';
import { isJsonObject, Reply } from '../wire/reply.ts';
import { replyOf } from './http-errors.ts';
import { type Door, MAX_GREETING_BYTES } from './http-exchange.ts';
import { exchange } from './http-follow.ts';
import { modernHeaders } from './http-modern.ts';
import type { HttpTarget } from './http-target.ts';

const VERDICT_TTL_MS = 24 * 3_600_000;

/** A modern server's own word on what it offers is remembered with the era: it needs no other handshake. */
export type Verdict = { readonly era: 'legacy' } | { readonly era: 'modern'; readonly discovered: unknown };

export interface EraMemory {
  find(key: string): Verdict | undefined;
  remember(key: string, verdict: Verdict): void;
  forget(key: string): void;
}

export function createEraMemory(clock: Clock): EraMemory {
  const verdicts = new LRUCache<string, { verdict: Verdict; foundAt: number }>({ max: 10_000 });
  return {
    find(key) {
      const kept = verdicts.get(key);
      return kept !== undefined && clock.now() - kept.foundAt < VERDICT_TTL_MS ? kept.verdict : undefined;
    },
    remember: (key, verdict) => void verdicts.set(key, { verdict, foundAt: clock.now() }),
    forget: (key) => void verdicts.delete(key),
  };
}

export type Probe =
  | { readonly era: 'modern'; readonly discovered: unknown }
  /** `isCertain` is false after a server error, which says nothing about the era. */
  | { readonly era: 'legacy'; readonly isCertain: boolean };

/**
 * Asks `server/discover`. A refused credential decides nothing and is thrown; everything else that is
 * not a modern answer means legacy, in whatever way the old server says no.
 */
export async function probeEra(
  door: Door,
  target: HttpTarget,
  client: Implementation,
  signal: AbortSignal,
): Promise<Probe> {
  const method = 'server/discover';
  let streamed: Reply | undefined;
  try {
    const answer = await exchange(door, {
      origin: target.origin,
      path: target.path,
      method: 'POST',
      headers: modernHeaders(target, method),
      body: writeRequest(0, method, undefined, { era: 'modern', client, capabilities: {} }, false),
      echo: target.echo,
      signal,
      maxBytes: MAX_GREETING_BYTES,
      onEvent: (data) => {
        streamed = Reply.from(Buffer.from(data, 'latin1'));
        return streamed !== undefined;
      },
    });
    const reply = streamed ?? replyOf(answer, door.clock.now(), false);
    return judge(reply);
  } catch (error) {
    if (signal.aborted || error instanceof CredentialRefusedError) throw error;
    if (!(error instanceof ProxyError)) throw error;
    // No byte left: the server is down, and asking it in another era would not help.
    if (error instanceof NotRunError) throw error;
    return { era: 'legacy', isCertain: error.code === 'upstream_protocol' };
  }
}

function judge(reply: Reply): Probe {
  const payload = reply.payload();
  if (reply.isError || !isJsonObject(payload)) return { era: 'legacy', isCertain: true };
  const versions = payload['supportedVersions'];
  return Array.isArray(versions) && versions.includes(MODERN_VERSION)
    ? { era: 'modern', discovered: payload }
    : { era: 'legacy', isCertain: true };
}
