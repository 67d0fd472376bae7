// What a first start on one machine makes and keeps in the data directory: the master key, the
// operator's key, a tenant and an agent key to begin with. Files are for their owner alone.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createAgentKey } from './identity/agent-key.ts';
import type { AgentKeyStore, TenantStore } from './identity/tenant-store.ts';
import type { Clock } from './shared/clock.ts';
import { OwnError } from './shared/errors.ts';
import { parseTenantId, randomId, type TenantId } from './shared/id.ts';
import { Secret } from './shared/secret.ts';

export interface Kept {
  readonly secret: Secret;
  /** Made just now, so it has to be shown. */
  readonly isNew: boolean;
}

/**
 * Gives the path of its file. `isNeeded`: whether anything is stored that a key of before has wrapped. Then none is made:
 * it could open nothing, and would be in the way of the right one when that is copied back.
 */
export async function keepMasterKey(dataDir: string, isNeeded: () => Promise<boolean>): Promise<string> {
  const path = join(dataDir, 'master.key');
  if (!(await isThere(path)) && (await isNeeded()))
    throw new OwnError(
      `${resolve(path)} is not there, and what is stored can be opened only with it: put it back from your copy. None was made in its place`,
    );
  await keep(dataDir, 'master.key', () => randomBytes(32).toString('base64'));
  return path;
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

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
