// In-memory fillings of the ports behind upstream OAuth.
import type { AttemptState, AttemptStore, StoredAttempt } from '../../src/credential/attempt-store.ts';
import type { ClientKey, ClientStore, StoredClient } from '../../src/credential/client-store.ts';
import { credentialKey } from '../../src/credential/credential-store.ts';
import type { GrantKey } from '../../src/credential/renewal-store.ts';
import type { ScopeStore } from '../../src/credential/scope-store.ts';
import type { ServiceKeyStore, StoredServiceKey } from '../../src/credential/service-key-store.ts';
import type { PrincipalId, ServerId, TenantId } from '../../src/shared/id.ts';
import { FakeClock } from '../support/fake-clock.ts';

interface ClientRow {
  readonly client: StoredClient | undefined;
  readonly holder: string | undefined;
  readonly until: number;
}

const keyOf = ({ tenantId, serverId, issuer }: ClientKey): string => JSON.stringify([tenantId, serverId, issuer]);

export class InMemoryClients implements ClientStore {
  /** Of leases. */
  clock: Pick<FakeClock, 'now'> = new FakeClock();
  readonly rows = new Map<string, ClientRow>();

  get all(): readonly StoredClient[] {
    return [...this.rows.values()].flatMap(({ client }) => (client === undefined ? [] : [client]));
  }

  async find(key: ClientKey): Promise<StoredClient | undefined> {
    return this.rows.get(keyOf(key))?.client;
  }

  async acquire(key: ClientKey, holder: string, leaseMs: number): Promise<boolean> {
    const row = this.rows.get(keyOf(key));
    if (row?.holder !== undefined && row.until > this.clock.now()) return false;
    this.rows.set(keyOf(key), { client: row?.client, holder, until: this.clock.now() + leaseMs });
    return true;
  }

  async release(key: ClientKey, holder: string, client: Omit<StoredClient, 'isOver'> | undefined): Promise<void> {
    const row = this.rows.get(keyOf(key));
    if (row?.holder !== holder) return;
    this.rows.set(keyOf(key), {
      client: client === undefined ? row.client : { ...client, isOver: false },
      holder: undefined,
      until: this.clock.now(),
    });
  }

  async forget(key: ClientKey, clientId: string): Promise<boolean> {
    const row = this.rows.get(keyOf(key));
    if (row?.client?.clientId !== clientId) return false;
    this.rows.set(keyOf(key), { ...row, client: { ...row.client, isOver: true } });
    return true;
  }
}

export class InMemoryAttempts implements AttemptStore {
  rows: StoredAttempt[] = [];

  async create(attempt: Omit<StoredAttempt, 'state'>): Promise<void> {
    this.rows.push({ ...attempt, state: 'open' });
  }

  async find(stateHash: Buffer, now: number): Promise<StoredAttempt | undefined> {
    return this.rows.find((row) => row.stateHash.equals(stateHash) && (row.state !== 'open' || row.expiresAt > now));
  }

  async take(tenantId: TenantId, stateHash: Buffer, now: number): Promise<boolean> {
    const isFree = this.rows.some(
      (row) =>
        row.tenantId === tenantId && row.stateHash.equals(stateHash) && row.state === 'open' && row.expiresAt > now,
    );
    if (isFree) this.#set(tenantId, stateHash, 'taken');
    return isFree;
  }

  async end(tenantId: TenantId, stateHash: Buffer, state: 'connected' | 'denied' | 'failed'): Promise<void> {
    this.#set(tenantId, stateHash, state);
  }

  async countOpen(tenantId: TenantId, principalId: PrincipalId, now: number): Promise<number> {
    return this.rows.filter(
      (row) =>
        row.tenantId === tenantId && row.principalId === principalId && row.state === 'open' && row.expiresAt > now,
    ).length;
  }

  #set(tenantId: TenantId, stateHash: Buffer, state: AttemptState): void {
    this.rows = this.rows.map((row) =>
      row.tenantId === tenantId && row.stateHash.equals(stateHash) ? { ...row, state } : row,
    );
  }
}

export class InMemoryScopes implements ScopeStore {
  rows: { readonly key: GrantKey; readonly tool: string; readonly scopes: readonly string[] }[] = [];

  async add(key: GrantKey, tool: string, scopes: readonly string[]): Promise<void> {
    this.rows.push({ key, tool, scopes });
  }

  async list(key: GrantKey): Promise<readonly string[]> {
    const mine = this.rows.filter((row) => credentialKey(row.key) === credentialKey(key));
    return [...new Set(mine.flatMap(({ scopes }) => scopes))].sort();
  }

  async forget(tenantId: TenantId, serverId: ServerId, owner?: string): Promise<void> {
    this.rows = this.rows.filter(
      ({ key }) =>
        key.tenantId !== tenantId || key.serverId !== serverId || (owner !== undefined && key.owner !== owner),
    );
  }
}

export class InMemoryServiceKeys implements ServiceKeyStore {
  readonly rows: StoredServiceKey[] = [];

  async list(): Promise<readonly StoredServiceKey[]> {
    return [...this.rows];
  }

  async ensure(key: StoredServiceKey): Promise<readonly StoredServiceKey[]> {
    if (this.rows.length === 0) this.rows.push(key);
    return this.list();
  }
}
