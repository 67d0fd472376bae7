// The vault with its rows in the open, in memory.
import { randomBytes } from 'node:crypto';
import type { WrappedDataKey as DataKey, DataKeyStore } from '../../src/credential/data-key-store.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import type { SealContext } from '../../src/credential/seal-context.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import { parseTenantId, type TenantId } from '../../src/shared/id.ts';

/** The port in memory, with its rows in the open. */
export class FakeDataKeyStore implements DataKeyStore {
  readonly rows = new Map<TenantId, DataKey[]>();

  list(tenantId: TenantId): Promise<readonly DataKey[]> {
    return Promise.resolve(this.rows.get(tenantId) ?? []);
  }

  findCurrent(tenantId: TenantId): Promise<DataKey | undefined> {
    return Promise.resolve(this.rows.get(tenantId)?.at(-1));
  }

  ensure(tenantId: TenantId, key: DataKey): Promise<DataKey> {
    const [known] = this.rows.get(tenantId) ?? [];
    if (known === undefined) this.rows.set(tenantId, [key]);
    return Promise.resolve(known ?? key);
  }
}

function tenant(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined) throw new Error(text);
  return id;
}

export const acme = tenant('acme');
export const beta = tenant('beta');
export const newMasterKey = (): string => randomBytes(32).toString('base64');
export const context = (...field: string[]): SealContext => ({
  purpose: 'credential',
  owner: 'p:ada',
  server: 'server-1',
  binding: 'https://mcp.example.com',
  field,
  v1: field,
});
export const CONTEXT = context('a');
export const SECRET = 'ghp_canary🔑';

/** A vault that remembers nothing, as after a restart. */
export const openVault = (dataKeys: DataKeyStore, ...masterKeys: string[]): Vault =>
  createVault({ masterKeys: createStaticKeyProvider(masterKeys), dataKeys });

export const refused = { code: 'internal', message: 'A stored secret could not be opened.', data: undefined };

export const lost = { code: 'internal', data: { reason: 'key_deleted' } };
