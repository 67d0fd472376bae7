import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tenant } from '../../src/identity/tenant-store.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { fillTenant } from './fill-tenant.ts';
import { addTenant, type OpenStore, openStore, tenantId } from './open-store.ts';

const ACME: Tenant = {
  id: tenantId('acme'),
  name: 'Acme, Inc.',
  signIn: {
    mode: 'oidc',
    issuer: 'https://id.acme.example',
    clientId: 'kb',
    clientSecret: 's',
    principalClaim: 'email',
  },
  gatedDefault: ['create_*'],
  limits: { callsPerMinute: 60 },
};

let store: OpenStore;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

describe('tenants', () => {
  it('gives back what was created, and refuses the same id again', async () => {
    const tenants = createTenantStore(store.database);
    expect(await tenants.create(ACME)).toEqual(ACME);
    expect(await tenants.find(ACME.id)).toEqual(ACME);
    expect(await tenants.create({ ...ACME, name: 'Somebody else' })).toBeUndefined();
    expect((await tenants.find(ACME.id))?.name).toBe('Acme, Inc.');
  });

  it('changes only what is named, and can set a gate to null', async () => {
    const tenants = createTenantStore(store.database);
    const id = await addTenant(store.database, 'changing');
    expect(await tenants.update(id, { name: 'New' })).toMatchObject({
      name: 'New',
      signIn: { mode: 'link' },
      gatedDefault: false,
    });
    expect(await tenants.update(id, { gatedDefault: null })).toMatchObject({ name: 'New', gatedDefault: null });
    const signIn = { mode: 'handoff', verifyUrl: 'https://app.example/verify', key: 'k' } as const;
    expect(await tenants.update(id, { signIn, limits: { a: 1 } })).toMatchObject({
      name: 'New',
      signIn,
      limits: { a: 1 },
    });
    expect(await tenants.update(tenantId('nobody'), { name: 'x' })).toBeUndefined();
  });

  it('refuses a way of signing in that it could not read, also from a row written by hand', async () => {
    const insert = (signIn: unknown): Promise<unknown> =>
      store.admin.query('INSERT INTO tenants (id, name, sign_in) VALUES ($1, $1, $2)', [
        'by-hand',
        JSON.stringify(signIn),
      ]);
    for (const bad of [
      null,
      {},
      'link',
      { mode: 'saml' },
      { mode: 'oidc', issuer: 'https://id.example' },
      { mode: 'handoff', key: 1, verifyUrl: 'x' },
    ]) {
      await expect(insert(bad), JSON.stringify(bad)).rejects.toMatchObject({ constraint: 'tenants_sign_in_form' });
    }
    await insert({ mode: 'link' });
  });

  it('lists page by page in the order of ids, each once', async () => {
    const other = await openStore();
    const tenants = createTenantStore(other.database);
    for (const id of ['c', 'a', 'b-1', 'b1', 'd']) await addTenant(other.database, id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await tenants.list(cursor, 2);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(['a', 'b-1', 'b1', 'c', 'd']);
    await expect(tenants.list('rubbish', 2)).rejects.toMatchObject({ code: 'invalid_request' });
    await other.close();
  });

  it('takes everything of a tenant with it, and nothing of another', async () => {
    const { database } = store;
    for (const id of ['gone', 'stays']) await fillTenant(store, id);
    expect(await createTenantStore(database).remove(tenantId('gone'))).toBe(true);
    expect(await createTenantStore(database).remove(tenantId('gone'))).toBe(false);
    const tables = await store.admin.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.columns WHERE column_name = 'tenant_id' AND table_schema = 'public' ORDER BY 1",
    );
    expect(tables.map(({ name }) => name)).toEqual([
      'agent_keys',
      'browser_sessions',
      'browser_sign_ins',
      'catalogs',
      'credentials',
      'data_keys',
      'issuers',
      'oauth_clients',
      'renewals',
      'scope_needs',
      'servers',
      'sign_in_attempts',
      'ticket_mismatches',
      'tickets',
    ]);
    for (const { name } of tables) {
      const rows = await store.admin.query<{ tenant_id: string }>(
        `SELECT DISTINCT tenant_id FROM ${name} WHERE tenant_id IN ('gone', 'stays')`,
      );
      expect(rows, name).toEqual([{ tenant_id: 'stays' }]);
    }
  });

  it('has the tenant first in every primary key', async () => {
    const rows = await store.admin.query<{ table: string; first: string }>(
      `SELECT c.relname AS table, a.attname AS first FROM pg_index i
       JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
       WHERE i.indisprimary AND n.nspname = 'public' AND c.relname NOT IN ('tenants', 'pgmigrations', 'service_keys')`,
    );
    expect(rows).toHaveLength(14);
    expect(rows.filter(({ first }) => first !== 'tenant_id')).toEqual([]);
  });

  it('B266: holds long texts without a limit of its own', async () => {
    const rows = await store.admin.query(
      `SELECT table_name, column_name FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name <> 'pgmigrations' AND character_maximum_length IS NOT NULL`,
    );
    expect(rows).toEqual([]);
  });
});
