import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tenant } from '../../src/identity/tenant-store.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createAgentKeyStore } from '../../src/store/agent-keys.ts';
import { createCatalogStore } from '../../src/store/catalogs.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { createDataKeyStore } from '../../src/store/data-keys.ts';
import { createIssuerStore } from '../../src/store/issuers.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { createTicketStore } from '../../src/store/tickets.ts';
import { addServer, addTenant, type OpenStore, openStore, principalId, tenantId } from './open-store.ts';

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
    for (const id of ['gone', 'stays']) await fillTenant(id);
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

async function fillTenant(id: string): Promise<void> {
  const { database, clock } = store;
  const tenant = await addTenant(database, id);
  const serverId = await addServer(database, tenant, 'linear');
  const now = clock.now();
  const principal = principalId('ada');
  const issuer = {
    tenantId: tenant,
    issuer: 'https://id.example',
    jwksUri: 'https://id.example/jwks',
    jwks: undefined,
    audience: 'kb',
  };
  await createIssuerStore(database).put({
    ...issuer,
    principalClaim: 'sub',
    tenantClaim: undefined,
    algorithms: ['ES256'],
  });
  const key = {
    tenantId: tenant,
    id: 'k1',
    name: 'k',
    keyHash: Buffer.from(`hash of ${id}`),
    principal: undefined,
    mayActFor: '*',
  } as const;
  await createAgentKeyStore(database).create({ ...key, scopes: [], expiresAt: undefined, createdAt: now });
  await createCatalogStore(database).put({
    tenantId: tenant,
    serverId,
    owner: '',
    toolsJson: '[]',
    binding: 'b',
    foundAt: now,
  });
  const credential = {
    tenantId: tenant,
    serverId,
    owner: 'p:ada',
    kind: 'secret',
    binding: 'b',
    sealed: Buffer.from('x'),
    details: {},
  } as const;
  await createCredentialStore(database).put(credential, now);
  await createDataKeyStore(database).ensure(tenant, { id: 'd1', wrapped: Buffer.from('w'), masterKeyId: 'm' });
  const ticket = {
    tenantId: tenant,
    hash: Buffer.from(`ticket of ${id}`),
    principalId: principal,
    serverId,
    binding: 'b',
    challenge: undefined,
    scopes: [],
  };
  await createTicketStore(database).create({ ...ticket, expiresAt: now + 600_000 });
  await fillSignIns(tenant, serverId);
}

async function fillSignIns(tenant: TenantId, serverId: ServerId): Promise<void> {
  const { clock } = store;
  const later = new Date(clock.now() + 600_000);
  const hash = (what: string): Buffer => Buffer.from(`${what} of ${tenant}`);
  const insert = (table: string, row: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const names = ['tenant_id', ...Object.keys(row)];
    const places = names.map((_, n) => `$${n + 1}`).join(', ');
    return store.admin.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, [
      tenant,
      ...Object.values(row),
    ]);
  };
  const owned = { server_id: serverId, owner: 'p:ada' };
  await insert('renewals', { ...owned, until: later });
  await insert('scope_needs', { ...owned, tool: 't', scopes: ['s'], found_at: later });
  await insert('oauth_clients', { server_id: serverId, issuer: 'https://as.example', until: later });
  const attempt = { context_id: 'c', principal_id: 'ada', server_id: serverId, binding: 'b', sealed: hash('sealed') };
  await insert('sign_in_attempts', {
    ...attempt,
    state_hash: hash('state'),
    browser_hash: hash('browser'),
    expires_at: later,
  });
  await insert('browser_sessions', { hash: hash('session'), principals: ['ada'], proof: 'link', expires_at: later });
  const signIn = { id: `sign-in of ${tenant}`, mode: 'oidc', browser_hash: hash('browser'), expires_at: later };
  await insert('browser_sign_ins', signIn);
  await insert('ticket_mismatches', { ticket_hash: hash('ticket') });
}
