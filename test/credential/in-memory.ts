// In-memory fillings of the credential ports, and a real vault over them.
import { randomBytes } from 'node:crypto';
import { parseDefinition } from '../../src/catalog/definition.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { type CredentialStore, credentialKey, type StoredCredential } from '../../src/credential/credential-store.ts';
import type { DataKeyStore, WrappedDataKey } from '../../src/credential/data-key-store.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { FRESH } from '../../src/credential/renewal-failure.ts';
import type { GrantKey, Lease, RenewalState, RenewalStore } from '../../src/credential/renewal-store.ts';
import type { Ticket, TicketStore } from '../../src/credential/ticket-store.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import {
  type PrincipalId,
  parsePrincipalId,
  parseTenantId,
  type ServerId,
  type TenantId,
} from '../../src/shared/id.ts';
import { FakeClock } from '../support/fake-clock.ts';

export function aTenantId(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined) throw new Error('not a tenant id');
  return id;
}

export function aPrincipal(text: string): PrincipalId {
  const id = parsePrincipalId(text);
  if (id === undefined) throw new Error('not a principal');
  return id;
}

/** A server from its definition; kind `secret` unless the definition says otherwise. */
export function aServer(
  definition: Readonly<Record<string, unknown>> = {},
  place: { tenantId?: TenantId; name?: string; id?: string; source?: 'table' | 'file' } = {},
): UpstreamServer {
  const { tenantId = aTenantId('acme'), name = 'notes', id = `id-of-${name}`, source = 'table' } = place;
  const full = {
    ...('command' in definition ? {} : { url: 'https://notes.example/mcp' }),
    credential: { kind: 'secret' },
    ...definition,
  };
  const result = parseDefinition({
    tenantId,
    name,
    id: id as ServerId,
    revision: '1',
    enabled: true,
    source,
    definition: full,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.server;
}

export class InMemoryTickets implements TicketStore {
  readonly rows: (Ticket & { isUsed: boolean; usedBy?: Buffer | undefined })[] = [];

  async create(ticket: Ticket): Promise<void> {
    this.rows.push({ ...ticket, isUsed: false });
  }

  async find(hash: Buffer, now: number): Promise<Ticket | undefined> {
    return this.rows.find((row) => row.hash.equals(hash) && !row.isUsed && row.expiresAt > now);
  }

  async consume(hash: Buffer, now: number, by?: Buffer): Promise<Ticket | undefined> {
    const isTheirs = ({ isUsed, usedBy }: (typeof this.rows)[number]): boolean =>
      !isUsed || (by !== undefined && usedBy?.equals(by) === true);
    const row = this.rows.find(
      (candidate) => candidate.hash.equals(hash) && candidate.expiresAt > now && isTheirs(candidate),
    );
    if (row !== undefined) Object.assign(row, { isUsed: true, usedBy: by });
    return row;
  }

  async countOpen(tenantId: TenantId, principalId: PrincipalId, now: number): Promise<number> {
    return this.rows.filter(
      (row) => row.tenantId === tenantId && row.principalId === principalId && !row.isUsed && row.expiresAt > now,
    ).length;
  }
}

export class InMemoryCredentials implements CredentialStore {
  rows: StoredCredential[] = [];
  #version = 0;

  async find(tenantId: TenantId, serverId: ServerId, owner: string): Promise<StoredCredential | undefined> {
    return this.rows.find((row) => row.tenantId === tenantId && row.serverId === serverId && row.owner === owner);
  }

  async put(credential: Omit<StoredCredential, 'version' | 'updatedAt'>, now: number): Promise<string> {
    await this.remove(credential.tenantId, credential.serverId, credential.owner);
    const version = String(++this.#version);
    this.rows.push({ ...credential, version, updatedAt: now });
    return version;
  }

  async replace(
    credential: Omit<StoredCredential, 'version' | 'updatedAt'>,
    version: string | undefined,
    now: number,
  ): Promise<string | undefined> {
    const there = await InMemoryCredentials.prototype.find.call(
      this,
      credential.tenantId,
      credential.serverId,
      credential.owner,
    );
    const isFree = version === undefined && there?.binding !== credential.binding;
    return isFree || there?.version === version ? this.put(credential, now) : undefined;
  }

  async removeOthers(tenantId: TenantId, serverId: ServerId, binding: string, until: number): Promise<void> {
    this.rows = this.rows.filter(
      (row) =>
        row.tenantId !== tenantId || row.serverId !== serverId || row.binding === binding || row.updatedAt > until,
    );
  }

  async listOf(tenantId: TenantId, owner: string): Promise<readonly StoredCredential[]> {
    return this.rows.filter((row) => row.tenantId === tenantId && row.owner === owner);
  }

  async remove(tenantId: TenantId, serverId: ServerId, owner: string): Promise<StoredCredential | undefined> {
    const there = await InMemoryCredentials.prototype.find.call(this, tenantId, serverId, owner);
    this.rows = this.rows.filter(
      (row) => !(row.tenantId === tenantId && row.serverId === serverId && row.owner === owner),
    );
    return there;
  }

  async list(
    tenantId: TenantId,
    after: string | undefined,
    limit: number,
  ): Promise<{ items: readonly StoredCredential[]; next: string | undefined }> {
    const mine = this.rows.filter((row) => row.tenantId === tenantId);
    const start = after === undefined ? 0 : Number(after);
    return {
      items: mine.slice(start, start + limit),
      next: mine.length > start + limit ? String(start + limit) : undefined,
    };
  }

  async versions(): Promise<ReadonlyMap<string, string>> {
    throw new Error('not needed here');
  }
}

export function aVault(): Vault {
  const keys = new Map<TenantId, WrappedDataKey>();
  const dataKeys: DataKeyStore = {
    list: async (tenantId) => [...keys].filter(([owner]) => owner === tenantId).map(([, key]) => key),
    findCurrent: async (tenantId) => keys.get(tenantId),
    ensure: async (tenantId, key) => {
      const kept = keys.get(tenantId) ?? key;
      keys.set(tenantId, kept);
      return kept;
    },
  };
  return createVault({ masterKeys: createStaticKeyProvider([randomBytes(32).toString('base64')]), dataKeys });
}

export class InMemoryRenewals implements RenewalStore {
  readonly #clock: Pick<FakeClock, 'now'>;
  readonly rows = new Map<string, Lease & { holder: string | undefined; until: number }>();

  constructor(clock: Pick<FakeClock, 'now'> = new FakeClock()) {
    this.#clock = clock;
  }

  async acquire(key: GrantKey, holder: string, leaseMs: number): Promise<Lease | undefined> {
    const row = this.rows.get(credentialKey(key));
    if (row?.holder !== undefined && row.until > this.#clock.now()) return undefined;
    const lease = { state: row?.state ?? FRESH, renewedAt: row?.renewedAt };
    this.rows.set(credentialKey(key), { ...lease, holder, until: this.#clock.now() + leaseMs });
    return lease;
  }

  async release(
    key: GrantKey,
    holder: string,
    { renewedAt, ...state }: RenewalState & { readonly renewedAt: number | undefined },
  ): Promise<void> {
    const row = this.rows.get(credentialKey(key));
    if (row?.holder !== holder) return;
    this.rows.set(credentialKey(key), {
      state,
      renewedAt: renewedAt ?? row.renewedAt,
      holder: undefined,
      until: this.#clock.now(),
    });
  }

  async spentAmong(
    tenantId: TenantId,
    versions: readonly (Omit<GrantKey, 'tenantId'> & { readonly version: string })[],
  ): Promise<ReadonlySet<string>> {
    return new Set(
      versions.flatMap((asked) => {
        const one = { ...asked, tenantId };
        const state = this.rows.get(credentialKey(one))?.state;
        return state?.spent === true && state.version === one.version ? [credentialKey(one)] : [];
      }),
    );
  }
}
