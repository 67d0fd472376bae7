// An issuer's public keys, fetched seldom however many tokens ask: neither unknown key ids nor a dead
// endpoint can make us a hammer (T14). Every tenant has its own memory, also of the same address.

import type { JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../shared/clock.ts';
import { OwnError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight, waitFor } from '../shared/single-flight.ts';
import { parseKeySet } from './key-set.ts';
import type { Issuer } from './tenant-store.ts';

/** Port: fetches JSON through the guarded way out. Filled by upstream/. */
export type FetchJson = (url: string, signal: AbortSignal) => Promise<unknown>;

const FRESH_MS = 10 * 60_000;
/** While the endpoint fails, known keys go on being used: its outage is not our tenant's. */
const USABLE_MS = 60 * 60_000;
const COOL_DOWN_MS = 30_000;
const FAILED_FOR_MS = 10_000;
const DEADLINE_MS = 5_000;
const MAX_ISSUERS = 10_000;

export interface JwksSource {
  /** Rejects when there are no usable keys. */
  resolve(issuer: Issuer): Promise<JWTVerifyGetKey>;
  /** After an unknown key id: newer keys, or undefined when it is too early to ask again. */
  resolveNewer(issuer: Issuer): Promise<JWTVerifyGetKey | undefined>;
  forget(tenantId: TenantId): void;
}

interface State {
  readonly tenantId: TenantId;
  readonly uri: string;
  keys: JWTVerifyGetKey | undefined;
  fetchedAt: number;
  triedAt: number;
  failedUntil: number;
}

export function createJwksSource({
  fetchJson,
  clock,
  logger,
}: {
  fetchJson: FetchJson;
  clock: Clock;
  logger: Logger;
}): JwksSource {
  const states = new LRUCache<string, State>({ max: MAX_ISSUERS });
  const flights = new SingleFlight<JWTVerifyGetKey>();
  /** By their text: the same keys are imported once, however many tokens they sign. */
  const inline = new LRUCache<string, JWTVerifyGetKey>({ max: MAX_ISSUERS });

  function inlineKeys(jwks: unknown): JWTVerifyGetKey {
    const text = JSON.stringify(jwks) ?? '';
    const known = inline.get(text);
    if (known !== undefined) return known;
    const keys = parseKeySet(jwks);
    inline.set(text, keys);
    return keys;
  }

  async function fetchKeys(uri: string): Promise<JWTVerifyGetKey> {
    const abort = new AbortController();
    const cancel = clock.after(DEADLINE_MS, () => abort.abort(new OwnError('the key endpoint did not answer in time')));
    try {
      return parseKeySet(await waitFor(fetchJson(uri, abort.signal), abort.signal));
    } finally {
      cancel();
    }
  }

  function stateOf(tenantId: TenantId, issuer: string, uri: string): State {
    const name = JSON.stringify([tenantId, issuer, uri]);
    const known = states.get(name);
    if (known !== undefined) return known;
    const state: State = {
      tenantId,
      uri,
      keys: undefined,
      fetchedAt: -Infinity,
      triedAt: -Infinity,
      failedUntil: -Infinity,
    };
    states.set(name, state);
    return state;
  }

  /** The new keys, or undefined: then the failure is remembered, and logged once. */
  async function load(state: State): Promise<JWTVerifyGetKey | undefined> {
    state.triedAt = clock.now();
    try {
      state.keys = await flights.run(JSON.stringify([state.tenantId, state.uri]), () => fetchKeys(state.uri));
      state.fetchedAt = clock.now();
      return state.keys;
    } catch (error) {
      if (clock.now() >= state.failedUntil) {
        logger.warn({ tenantId: state.tenantId, error: describeError(error) }, 'issuer keys not fetched');
      }
      state.failedUntil = clock.now() + FAILED_FOR_MS;
      return undefined;
    }
  }

  const isWithin = (state: State, ms: number): boolean => clock.now() - state.fetchedAt < ms;

  return {
    async resolve({ tenantId, issuer, jwksUri, jwks }) {
      if (jwksUri === undefined) return inlineKeys(jwks);
      const state = stateOf(tenantId, issuer, jwksUri);
      if (state.keys !== undefined && isWithin(state, FRESH_MS)) return state.keys;
      const newer = clock.now() < state.failedUntil ? undefined : await load(state);
      if (newer !== undefined) return newer;
      if (state.keys !== undefined && isWithin(state, USABLE_MS)) return state.keys;
      throw new OwnError('the issuer has no usable keys');
    },
    async resolveNewer({ tenantId, issuer, jwksUri }) {
      if (jwksUri === undefined) return undefined;
      const state = stateOf(tenantId, issuer, jwksUri);
      return clock.now() - state.triedAt < COOL_DOWN_MS ? undefined : load(state);
    },
    forget(tenantId) {
      for (const [name, state] of states) if (state.tenantId === tenantId) states.delete(name);
    },
  };
}
