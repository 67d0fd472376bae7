// A fresh database for one test file, opened, and a few rows to begin with.

import {
  type PrincipalId,
  parsePrincipalId,
  parseTenantId,
  type ServerId,
  type TenantId,
} from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { createCatalogStore } from '../../src/store/catalogs.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { createTicketStore } from '../../src/store/tickets.ts';
import { type AdminSession, openAdminSession } from '../support/admin-session.ts';
import { createTestDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';

export interface OpenStore {
  readonly database: Database;
  /** Everything, by hand. */
  readonly admin: AdminSession;
  readonly url: string;
  readonly clock: FakeClock;
  close(): Promise<void>;
}

export async function openStore(maxConnections = 4): Promise<OpenStore> {
  const { url, close } = await createTestDatabase();
  const clock = new FakeClock();
  const database = openDatabase({ url, maxConnections, clock, logger: createLogger('silent') });
  const admin = openAdminSession(url);
  return {
    database,
    admin,
    url,
    clock,
    async close() {
      await Promise.all([database.close(), admin.end()]);
      await close();
    },
  };
}

export function tenantId(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined) throw new Error(`not a tenant id: ${text}`);
  return id;
}

export function principalId(text: string): PrincipalId {
  const id = parsePrincipalId(text);
  if (id === undefined) throw new Error(`not a principal id: ${text}`);
  return id;
}

export async function addTenant(database: Database, id: string): Promise<TenantId> {
  const tenant = { id: tenantId(id), name: id, signIn: { mode: 'link' }, gatedDefault: false, limits: {} } as const;
  await createTenantStore(database).create(tenant);
  return tenant.id;
}

export async function addServer(database: Database, tenant: TenantId, name: string): Promise<ServerId> {
  return (await createServerStore(database).put(tenant, name, { url: 'https://mcp.example.com/mcp' }, true)).id;
}

/** An empty list of tools, the same for everybody. */
export const addCatalog = (database: Database, tenantId: TenantId, serverId: ServerId, now: number): Promise<unknown> =>
  createCatalogStore(database).put({ tenantId, serverId, owner: '', toolsJson: '[]', binding: 'b', foundAt: now });

/** A key of one person, which nobody sealed. */
export const addCredential = (
  database: Database,
  tenantId: TenantId,
  serverId: ServerId,
  now: number,
  owner = 'p:ada',
): Promise<unknown> => {
  const credential = { tenantId, serverId, owner, kind: 'secret', binding: 'b', details: {} } as const;
  return createCredentialStore(database).put({ ...credential, sealed: Buffer.from('x') }, now);
};

/** A link for one person; `hash` has to be unique for all. */
export const addTicket = (
  database: Database,
  tenantId: TenantId,
  serverId: ServerId,
  hash: string,
  expiresAt: number,
): Promise<unknown> => {
  const link = { tenantId, serverId, hash: Buffer.from(hash), principalId: principalId('ada'), expiresAt };
  return createTicketStore(database).create({ ...link, binding: 'b', challenge: undefined, scopes: [] });
};
