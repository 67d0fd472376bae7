// What a first start on one machine makes and keeps in the data directory: the master key, the
// operator's key, a tenant and an agent key to begin with. Files are for their owner alone.
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgentKey } from './identity/agent-key.ts';
import type { AgentKeyStore, TenantStore } from './identity/tenant-store.ts';
import type { Clock } from './shared/clock.ts';
import { parseTenantId, randomId, type TenantId } from './shared/id.ts';
import { Secret } from './shared/secret.ts';

export interface Kept {
  readonly secret: Secret;
  /** Made just now, so it has to be shown. */
  readonly isNew: boolean;
}

/** Gives the path of its file. */
export async function keepMasterKey(dataDir: string): Promise<string> {
  await keep(dataDir, 'master.key', () => randomBytes(32).toString('base64'));
  return join(dataDir, 'master.key');
}

export const keepAdminKey = (dataDir: string): Promise<Kept> => keep(dataDir, 'admin.key', () => `kba_${randomId()}`);

/** Reads the file, or makes it; of two processes that start at once, both end with the same one. */
async function keep(dataDir: string, name: string, make: () => string): Promise<Kept> {
  await mkdir(dataDir, { recursive: true });
  const path = join(dataDir, name);
  try {
    await writeFile(path, `${make()}\n`, { mode: 0o600, flag: 'wx' });
    return { secret: new Secret((await readFile(path, 'utf8')).trim()), isNew: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return { secret: new Secret((await readFile(path, 'utf8')).trim()), isNew: false };
  }
}

const TENANTS_AT_ONCE = 500;

export const DEFAULT_TENANT = parseTenantId('default') as TenantId;

/** Makes the tenant when it is not there. */
export async function ensureTenant(tenants: TenantStore, id: TenantId): Promise<void> {
  if ((await tenants.find(id)) !== undefined) return;
  await tenants.create({ id, name: id, signIn: { mode: 'link' }, gatedDefault: false, limits: {} });
}

/** Whether there is a tenant where the link alone says who a person is. */
export async function hasLinkTenant(tenants: Pick<TenantStore, 'list'>): Promise<boolean> {
  for (let after: string | undefined; ; ) {
    const { items, next } = await tenants.list(after, TENANTS_AT_ONCE);
    if (items.some(({ signIn }) => signIn.mode === 'link')) return true;
    if (next === undefined) return false;
    after = next;
  }
}

/** The first agent key, which may act for anyone of the tenant; undefined when the tenant has one already. */
export async function firstAgentKey(
  keys: AgentKeyStore,
  tenantId: TenantId,
  clock: Clock,
): Promise<Secret | undefined> {
  if ((await keys.list(tenantId)).length > 0) return undefined;
  const { key, record } = createAgentKey(
    { tenantId, name: 'first', mayActFor: '*', scopes: [], expiresAt: undefined },
    clock,
  );
  await keys.create(record);
  return new Secret(key);
}
