import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FindText } from '../../src/catalog/server-store.ts';
import { createCatalogStore } from '../../src/store/catalogs.ts';
import { createServerStore } from '../../src/store/servers.ts';
import {
  addCatalog,
  addCredential,
  addServer,
  addTenant,
  addTicket,
  type OpenStore,
  openStore,
  tenantId,
} from './open-store.ts';

let store: OpenStore;
beforeAll(async () => {
  store = await openStore();
  for (const id of ['acme', 'beta']) await addTenant(store.database, id);
});
afterAll(() => store.close());

const acme = tenantId('acme');
const beta = tenantId('beta');

async function revisionOf(name: string): Promise<bigint> {
  const row = (await createServerStore(store.database).list(acme)).find((server) => server.name === name);
  if (row === undefined) throw new Error(`no server ${name}`);
  return BigInt(row.revision);
}

describe('servers', () => {
  it('are listed by name and only for their tenant', async () => {
    const servers = createServerStore(store.database);
    const put = await servers.put(acme, 'linear', { url: 'https://a.example', n: 1 }, false);
    await servers.put(acme, 'github', 'not even an object', true);
    await servers.put(beta, 'linear', { url: 'https://b.example' }, true);
    expect(put).toMatchObject({
      tenantId: acme,
      name: 'linear',
      definition: { url: 'https://a.example', n: 1 },
      enabled: false,
    });
    const listed = await servers.list(acme);
    expect(listed.map(({ name }) => name)).toEqual(['github', 'linear']);
    expect(listed[1]).toEqual(put);
    expect((await servers.list(beta)).map(({ definition }) => definition)).toEqual([{ url: 'https://b.example' }]);
    expect(await servers.listTenantIds()).toEqual([acme, beta]);
  });

  it('keep their id when they are replaced, and get a new one when they are registered again', async () => {
    const servers = createServerStore(store.database);
    const first = await servers.put(acme, 'ids', { v: 1 }, true);
    const replaced = await servers.put(acme, 'ids', { v: 2 }, true);
    expect(replaced.id).toBe(first.id);
    await servers.remove(acme, 'ids');
    expect((await servers.put(acme, 'ids', { v: 1 }, true)).id).not.toBe(first.id);
  });

  it('need no more than tenant, name and definition when written by hand', async () => {
    await store.admin.query(
      `INSERT INTO servers (tenant_id, name, definition) VALUES ('acme', 'by-hand', '{"url": "https://h.example"}')`,
    );
    const row = (await createServerStore(store.database).list(acme)).find(({ name }) => name === 'by-hand');
    expect(row).toMatchObject({ definition: { url: 'https://h.example' }, enabled: true });
    expect(row?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['its definition', `definition = '{"v": 2}'`],
    ['being switched off', 'enabled = false'],
    ['its name', `name = 'revised-2'`],
  ])('get a greater revision with a change of %s', async (_what, change) => {
    const servers = createServerStore(store.database);
    const before = await servers.put(acme, 'revised', { v: 1 }, true);
    const [after] = await store.admin.query<{ id: string; revision: string }>(
      `UPDATE servers SET ${change} WHERE tenant_id = 'acme' AND name = 'revised' RETURNING id, revision`,
    );
    expect(BigInt(after?.revision ?? 0)).toBeGreaterThan(BigInt(before.revision));
    expect(after?.id).toBe(before.id);
    await store.admin.query(`DELETE FROM servers WHERE name LIKE 'revised%'`);
  });

  it('keep their revision when nothing changes, and nobody can set it', async () => {
    await addServer(store.database, acme, 'same');
    const before = await revisionOf('same');
    await addServer(store.database, acme, 'same');
    await store.admin.query(`UPDATE servers SET revision = 1, updated_at = now() WHERE name = 'same'`);
    expect(await revisionOf('same')).toBe(before);
    await store.admin.query(`UPDATE servers SET revision = 1, enabled = false WHERE name = 'same'`);
    expect(await revisionOf('same')).toBeGreaterThan(before);
  });

  it('cannot be moved to another tenant or given another id', async () => {
    await addServer(store.database, acme, 'moved');
    for (const change of [`tenant_id = 'beta'`, 'id = gen_random_uuid()']) {
      await expect(
        store.admin.query(`UPDATE servers SET ${change} WHERE tenant_id = 'acme' AND name = 'moved'`),
      ).rejects.toMatchObject({ code: '23001' });
    }
  });

  it('say "not found" for a tenant that is not there', async () => {
    await expect(createServerStore(store.database).put(tenantId('nobody'), 'x', {}, true)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('take tool lists, credentials and tickets with them, also when deleted by hand', async () => {
    const { database, clock } = store;
    const now = clock.now();
    const doomed = await addServer(database, acme, 'doomed');
    const kept = await addServer(database, acme, 'kept');
    for (const serverId of [doomed, kept]) {
      await addCatalog(database, acme, serverId, now);
      await addCredential(database, acme, serverId, now);
      await addTicket(database, acme, serverId, serverId, now + 1);
    }
    await store.admin.query(`DELETE FROM servers WHERE tenant_id = 'acme' AND name = 'doomed'`);
    for (const table of ['catalogs', 'credentials', 'tickets']) {
      expect(await store.admin.query(`SELECT server_id FROM ${table} WHERE tenant_id = 'acme'`), table).toEqual([
        { server_id: kept },
      ]);
    }
  });
});

describe('catalogs', () => {
  const nothing = (): undefined => undefined;

  it('keep the text of a tool list as it came', async () => {
    const catalogs = createCatalogStore(store.database);
    const serverId = await addServer(store.database, beta, 'texts');
    const toolsJson = '[{"b":1.0,"a":1e400,"a":"twice","nul":"\\u0000","lone":"\\ud800"}]';
    const catalog = {
      tenantId: beta,
      serverId,
      owner: 'p:ada',
      toolsJson,
      binding: 'https://mcp.example.com',
      foundAt: 1_700_000_000_001,
    };
    await catalogs.put({ ...catalog, toolsJson: '[]' });
    await catalogs.put(catalog);
    await catalogs.put({ ...catalog, owner: '' });
    expect(await catalogs.list(beta, nothing)).toMatchObject([{ ...catalog, owner: '' }, catalog]);
    await catalogs.remove(acme, serverId, 'p:ada');
    expect(await catalogs.list(beta, nothing)).toHaveLength(2);
    await catalogs.remove(beta, serverId, 'p:ada');
    expect(await catalogs.list(beta, nothing)).toMatchObject([{ ...catalog, owner: '' }]);
  });

  it('read no text again that is remembered, until somebody writes it again', async () => {
    const catalogs = createCatalogStore(store.database);
    const serverId = await addServer(store.database, beta, 'remembered');
    const catalog = { tenantId: beta, serverId, owner: '', toolsJson: '[1]', binding: 'b', foundAt: 1_700_000_000_001 };
    await catalogs.put(catalog);
    await catalogs.put({ ...catalog, owner: 'p:ada', toolsJson: '[2]' });
    const mine = async (known: FindText) =>
      (await catalogs.list(beta, known)).filter((one) => one.serverId === serverId);
    const [first, second] = await mine(nothing);
    const remembered: FindText = (_, owner, stamp) =>
      owner === '' && stamp === first?.stamp ? 'remembered' : undefined;
    expect(await mine(remembered)).toEqual([{ ...first, toolsJson: 'remembered' }, second]);
    // Another node finds something else in the same millisecond.
    await catalogs.put({ ...catalog, toolsJson: '[3]' });
    expect(await mine(remembered)).toMatchObject([{ toolsJson: '[3]' }, { toolsJson: '[2]' }]);
  });
});
