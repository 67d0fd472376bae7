// An authenticator over stores held in memory, with everything a test wants to turn or count.

import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { createAgentKey, type NewAgentKey } from '../../src/identity/agent-key.ts';
import {
  type AuthenticationRequest,
  type Authenticator,
  createAuthenticator,
} from '../../src/identity/authenticate.ts';
import type { Caller } from '../../src/identity/caller.ts';
import type { AgentKey, Issuer, Tenant } from '../../src/identity/tenant-store.ts';
import { createStrangers } from '../../src/limits/strangers.ts';
import type { Change, ChangeFeed } from '../../src/shared/changes.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { parseTenantId, type TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';

export const PUBLIC_URL = 'https://px.test/';
export const ISSUER = 'https://idp.test';
export const AUDIENCE = 'https://px.test';

export function tenant(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined) throw new Error(`not a tenant id: ${text}`);
  return id;
}

export interface Signer {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
  readonly alg: string;
}

export async function createSigner(kid: string | undefined, alg = 'ES256'): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), ...(kid === undefined ? {} : { kid }), alg, use: 'sig' },
    privateKey,
    alg,
  };
}

/** Signs exactly these claims; undefined ones are left out. */
export function sign(
  signer: Signer,
  claims: Record<string, unknown>,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const kid = signer.jwk.kid === undefined ? {} : { kid: signer.jwk.kid };
  return new SignJWT(JSON.parse(JSON.stringify(claims)))
    .setProtectedHeader({ alg: signer.alg, ...kid, ...header })
    .sign(signer.privateKey);
}

export function anIssuer(tenantId: TenantId, over: Partial<Issuer> = {}): Issuer {
  return {
    tenantId,
    issuer: ISSUER,
    jwksUri: 'https://idp.test/keys',
    jwks: undefined,
    audience: AUDIENCE,
    principalClaim: 'sub',
    tenantClaim: undefined,
    algorithms: [],
    ...over,
  };
}

export class World {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly agentKeys: AgentKey[] = [];
  readonly issuers: Issuer[] = [];
  readonly tenants = new Set<string>(['a', 'b']);
  /** What each key endpoint answers; without an entry it is down. */
  readonly documents = new Map<string, unknown>();
  readonly fetched: string[] = [];
  readonly lookUps = { keys: 0, issuers: 0 };
  /** While set, every store read waits for it. */
  gate: Promise<void> | undefined;
  storeFailure: Error | undefined;
  readonly authenticator: Authenticator;
  #listeners = new Set<(change: Change) => void>();

  constructor() {
    const changes: ChangeFeed = {
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    this.authenticator = createAuthenticator({
      keys: { findByHash: (hash) => this.#read('keys', () => this.agentKeys.find((key) => key.keyHash.equals(hash))) },
      issuers: {
        findByIssuer: (issuer) => this.#read('issuers', () => this.issuers.filter((one) => one.issuer === issuer)),
      },
      tenants: { find: async (id) => (this.tenants.has(id) ? aTenant(id) : undefined) },
      fetchJson: (url) => this.#fetch(url),
      strangers: createStrangers(this.clock, createLogger('silent')),
      audience: () => PUBLIC_URL,
      clock: this.clock,
      changes,
      logger: createLogger('debug', { write: (line) => this.log.push(line) }),
    });
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  announce(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** In seconds, as claims have it. */
  get now(): number {
    return Math.floor(this.clock.now() / 1000);
  }

  addKey(wanted: Partial<NewAgentKey> = {}): { key: string; record: AgentKey } {
    const made = createAgentKey(
      { tenantId: tenant('a'), name: 'k', scopes: [], expiresAt: undefined, ...wanted },
      this.clock,
    );
    this.agentKeys.push(made.record);
    return made;
  }

  ask(token: string | undefined, over: Partial<AuthenticationRequest> = {}): Caller | Promise<Caller> {
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    return this.authenticator.authenticate({
      authorization,
      principalHeader: undefined,
      pathTenant: undefined,
      address: () => '192.0.2.1',
      ...over,
    });
  }

  /** The caller, or the code of the refusal. */
  async outcome(token: string | undefined, over: Partial<AuthenticationRequest> = {}): Promise<Caller | string> {
    try {
      return await this.ask(token, over);
    } catch (error) {
      if (error instanceof ProxyError) return error.code;
      throw error;
    }
  }

  claims(over: Record<string, unknown> = {}): Record<string, unknown> {
    return { iss: ISSUER, aud: AUDIENCE, sub: 'ann', iat: this.now, exp: this.now + 3600, ...over };
  }

  async #read<T>(store: 'keys' | 'issuers', find: () => T): Promise<T> {
    this.lookUps[store] += 1;
    if (this.storeFailure !== undefined) throw this.storeFailure;
    // Read first, wait then: as a row that was read just before somebody changed it.
    const found = find();
    await this.gate;
    return found;
  }

  async #fetch(url: string): Promise<unknown> {
    this.fetched.push(url);
    if (!this.documents.has(url)) throw new Error('connection refused');
    return this.documents.get(url);
  }
}

function aTenant(id: TenantId): Tenant {
  return { id, name: id, signIn: { mode: 'link' }, gatedDefault: false, limits: {} };
}

/** Rejects or throws: the error either way. */
export async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('it was accepted');
}
