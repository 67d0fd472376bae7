// A fresh database for one test file, opened, and a few rows to begin with.

import {
  type PrincipalId,
  parsePrincipalId,
  parseTenantId,
  type ServerId,
  type TenantId,
} from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
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
