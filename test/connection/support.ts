// A pool over connections that exist in memory only, dialled when the test says so.
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Connection } from '../../src/connection/connection.ts';
import { Pool } from '../../src/connection/pool.ts';
import type { Credential } from '../../src/credential/credential.ts';
import type { LimitsOf } from '../../src/limits/limits-of.ts';
import type { TenantLimits } from '../../src/limits/tenant-limits.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { Reply } from '../../src/wire/reply.ts';
import { aPrincipal, aServer } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';

export class FakeConnection implements Connection {
  readonly era = 'legacy';
  readonly capabilities = { tools: {} };
  readonly server: UpstreamServer;
  readonly credential: Credential;
  isClosed = false;
  /** How often the pool closed it. */
  closes = 0;
  readonly #jobs: (() => void)[] = [];

  constructor(server: UpstreamServer, credential: Credential) {
    this.server = server;
    this.credential = credential;
  }

  request(): Promise<Reply> {
    return Promise.resolve(Reply.of(1, { result: {} }));
  }

  listen(): () => void {
    return () => undefined;
  }

  onClose(job: () => void): void {
    this.#jobs.push(job);
  }

  close(): Promise<void> {
    this.closes++;
    this.#end();
    return Promise.resolve();
  }

  /** As if the server had gone. */
  die(): void {
    this.#end();
  }

  #end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const job of this.#jobs) job();
  }
}

export interface PendingDial {
  readonly server: UpstreamServer;
  readonly credential: Credential;
  readonly signal: AbortSignal;
  succeed(): FakeConnection;
  fail(error: Error): void;
}

export class PoolBench {
  readonly clock = new FakeClock();
  readonly dials: PendingDial[] = [];
  readonly connections: FakeConnection[] = [];
  readonly pool: Pool;
  limitsOf: LimitsOf;
  /** Otherwise dials wait until the test answers them. */
  dialsAtOnce = true;
  /** A dial that takes no notice of its signal. */
  isDeaf = false;

  constructor(maxConnections = 2_000, maxChildren = 64, more: Partial<TenantLimits> = {}) {
    this.limitsOf = () => someLimits({ maxConnections, maxChildren, ...more });
    this.pool = new Pool({
      dial: (server, credential, signal) => this.#dial(server, credential, signal),
      clock: this.clock,
      logger: createLogger('silent'),
      limitsOf: (tenantId) => this.limitsOf(tenantId),
    });
  }

  get live(): number {
    return this.connections.filter(({ isClosed }) => !isClosed).length;
  }

  #dial(server: UpstreamServer, credential: Credential, signal: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const dial: PendingDial = {
        server,
        credential,
        signal,
        succeed: () => {
          const connection = new FakeConnection(server, credential);
          this.connections.push(connection);
          resolve(connection);
          return connection;
        },
        fail: reject,
      };
      this.dials.push(dial);
      if (!this.isDeaf) signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (this.dialsAtOnce) dial.succeed();
    });
  }
}

export const NEVER = new AbortController().signal;

export const NO_CREDENTIAL: Credential = { kind: 'none' };

export const keyOf = (principal: string, version = '1', secret = 'same-secret', ofGrant: OfGrant = {}): Credential => ({
  kind: 'static',
  owner: { kind: 'principal', principalId: aPrincipal(principal) },
  version,
  ...ofGrant,
  secret: new Secret(secret),
});

interface OfGrant {
  readonly signInId?: string;
  readonly signedInAt?: number;
}

/** What a sign-in gave, or a renewal of it. */
export const grantOf = (principal: string, version: string, ofGrant: OfGrant): Credential =>
  keyOf(principal, version, 'same-secret', ofGrant);

export const tenantKey = (version = '1'): Credential => ({
  kind: 'static',
  owner: { kind: 'tenant' },
  version,
  secret: new Secret('same-secret'),
});

export { aServer };

/** Lets everything that is ready run. */
export const settled = (): Promise<void> => new Promise(setImmediate);
