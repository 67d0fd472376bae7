import { describe, expect, it } from 'vitest';
import type { TenantServers } from '../../src/catalog/registry.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { ACME, ATenant, aTool, settled, texts } from './a-tenant.ts';
import { definitionOf } from './read-tools.ts';

function heard(tenant: ATenant): { now: TenantServers; before: TenantServers | undefined }[] {
  const all: { now: TenantServers; before: TenantServers | undefined }[] = [];
  tenant.registry.onChange((_, now, before) => all.push({ now, before }));
  return all;
}

const toolsOf = (tenant: ATenant, name: string, owner = ''): readonly string[] | undefined =>
  tenant.registry
    .known(ACME)
    ?.byName.get(name)
    ?.lists.get(owner)
    ?.tools.map((tool) => tool.name);

async function aKnownTenant(...names: string[]): Promise<ATenant> {
  const tenant = new ATenant();
  for (const name of names) tenant.define(name);
  await tenant.registry.tenant(ACME);
  return tenant;
}

describe('what is registered', () => {
  it('is read once, however many ask, and known without waiting afterwards', async () => {
    const tenant = new ATenant();
    tenant.define('linear');
    expect(tenant.registry.known(ACME)).toBeUndefined();
    await Promise.all(Array.from({ length: 20 }, async () => tenant.registry.tenant(ACME)));
    expect(tenant.loads).toBe(1);
    expect(tenant.registry.tenant(ACME)).toBe(tenant.registry.known(ACME));
  });

  it('is told apart by tenant', async () => {
    const tenant = await aKnownTenant('linear');
    expect((await tenant.registry.tenant('umbrella' as TenantId)).byName.size).toBe(0);
    const { id } = await tenant.server('linear');
    expect(await tenant.registry.find(ACME, id)).toMatchObject({ name: 'linear' });
    expect(await tenant.registry.find('umbrella' as TenantId, id)).toBeUndefined();
  });

  it('is found before this node has heard of it, for who names it knows it from another node', async () => {
    const tenant = await aKnownTenant('linear');
    tenant.define('notes');
    expect(tenant.registry.known(ACME)?.byName.has('notes')).toBe(false);
    const other = new ATenant();
    other.define('notes');
    const { id } = await other.server('notes');
    expect(await tenant.registry.find(ACME, id)).toMatchObject({ name: 'notes' });
  });

  it('does not give a definition that does not hold to those who look for a server', async () => {
    const tenant = new ATenant();
    tenant.define('broken', { url: 'ftp://x' });
    const { server } = (await tenant.registry.tenant(ACME)).byName.get('broken') ?? {};
    expect(server).toMatchObject({ problems: [{ path: '$.url' }] });
    expect(await tenant.registry.find(ACME, server?.id ?? ('' as never))).toBeUndefined();
  });

  it('tries again after a read that failed', async () => {
    const tenant = new ATenant();
    tenant.gate = Promise.reject(new Error('no database'));
    await expect(Promise.resolve(tenant.registry.tenant(ACME))).rejects.toThrow('no database');
    tenant.gate = undefined;
    expect((await tenant.registry.tenant(ACME)).byName.size).toBe(0);
  });
});

describe('a change', () => {
  it('is heard with what was before, by notice and by resync', async () => {
    const tenant = await aKnownTenant('linear');
    const changes = heard(tenant);
    tenant.define('github');
    tenant.changes.say({ kind: 'servers', tenantId: ACME, serverId: 'id-of-github' });
    await settled();
    tenant.define('linear', { title: 'Linear' });
    tenant.changes.say({ kind: 'resync' });
    await settled();
    tenant.definitions.delete('github');
    await tenant.refresh();
    expect(changes.map(({ now, before }) => [[...now.byName.keys()], before?.byName.size])).toEqual([
      [['linear', 'github'], 1],
      [['linear', 'github'], 2],
      [['linear'], 2],
    ]);
    expect(changes.map(({ now }) => now.version)).toEqual([2, 3, 4]);
  });

  it('is read from the database once, and again only when it was written', async () => {
    const tenant = await aKnownTenant('a', 'b');
    await tenant.registry.keepList(await tenant.server('a'), '', texts([aTool('one')]));
    await tenant.registry.keepList(await tenant.server('b'), '', texts([aTool('two')]));
    expect(tenant.catalogs.reads).toBe(2);
    tenant.define('a', { title: 'edited' });
    await tenant.refresh();
    expect(tenant.catalogs.reads).toBe(2);
    expect([toolsOf(tenant, 'a'), toolsOf(tenant, 'b')]).toEqual([['one'], ['two']]);
    await tenant.registry.keepList(await tenant.server('b'), '', texts([aTool('three')]));
    expect(tenant.catalogs.reads).toBe(3);
    expect(toolsOf(tenant, 'b')).toEqual(['three']);
  });

  it('that changes nothing is told to nobody and costs no new version', async () => {
    const tenant = await aKnownTenant('linear');
    const server = await tenant.server('linear');
    await tenant.registry.keepList(server, '', texts([aTool('search')]));
    const changes = heard(tenant);
    const { version } = tenant.registry.known(ACME) ?? {};
    tenant.clock.advance(60_000);
    await tenant.registry.keepList(server, '', texts([aTool('search')]));
    await tenant.refresh();
    expect(changes).toEqual([]);
    expect(tenant.registry.known(ACME)?.version).toBe(version);
    expect(tenant.registry.known(ACME)?.byName.get('linear')?.lists.get('')?.foundAt).toBe(tenant.clock.now());
  });

  it('that comes while the servers are being read makes them read again', async () => {
    const tenant = await aKnownTenant('linear');
    let letGo: () => void = () => undefined;
    tenant.gate = new Promise((resolve) => (letGo = resolve));
    const first = tenant.refresh();
    await settled();
    tenant.define('github');
    const second = tenant.refresh();
    letGo();
    await Promise.all([first, second]);
    expect([...(tenant.registry.known(ACME)?.byName.keys() ?? [])]).toEqual(['linear', 'github']);
    expect(tenant.loads).toBe(3);
  });

  it('of what the tenant gates counts, although no server has a new revision', async () => {
    const tenant = await aKnownTenant('linear');
    const changes = heard(tenant);
    tenant.gated = true;
    tenant.changes.say({ kind: 'tenants', tenantId: ACME });
    await settled();
    expect(changes).toHaveLength(1);
    expect(await tenant.server('linear')).toMatchObject({ gated: true });
  });

  it('of a tenant that nobody asked for is read too: its agents may be listening elsewhere', async () => {
    const tenant = new ATenant();
    tenant.define('linear');
    tenant.changes.say({ kind: 'servers', tenantId: ACME, serverId: 'x' });
    await settled();
    expect(tenant.registry.known(ACME)?.byName.size).toBe(1);
  });

  it('that cannot be read leaves what is known, and says so in the log', async () => {
    const tenant = await aKnownTenant('linear');
    tenant.gate = Promise.reject(new Error('no database'));
    tenant.changes.say({ kind: 'resync' });
    await settled();
    expect(tenant.registry.known(ACME)?.byName.size).toBe(1);
    expect(tenant.lines.join()).toContain('servers not read');
  });

  it('that may have been missed has all tenants read again, few at a time', async () => {
    const tenant = new ATenant();
    for (let n = 0; n < 20; n++) await tenant.registry.tenant(`t${n}` as TenantId);
    let open = (): void => undefined;
    tenant.gate = new Promise((resolve) => (open = resolve));
    tenant.changes.say({ kind: 'resync' });
    await settled();
    const atOnce = tenant.loads - 20;
    open();
    for (let n = 0; n < 5; n++) await settled();
    expect([atOnce, tenant.loads - 20]).toEqual([4, 20]);
  });

  it('is not heard any more after stopping or the close', async () => {
    const tenant = await aKnownTenant('linear');
    const all: unknown[] = [];
    const stop = tenant.registry.onChange((...change) => all.push(change));
    stop();
    tenant.define('github');
    await tenant.refresh();
    tenant.registry.close();
    tenant.changes.say({ kind: 'resync' });
    expect([all.length, tenant.changes.listeners]).toEqual([0, 0]);
  });
});

describe('a list of tools', () => {
  it('is kept in the store first, then known here, for its owner alone', async () => {
    const tenant = await aKnownTenant('linear');
    const server = await tenant.server('linear');
    await tenant.registry.keepList(server, '', texts([aTool('b'), aTool('a')]));
    await tenant.registry.keepList(server, 'p:anna', texts([aTool('private')]));
    expect(tenant.catalogs.rows.map(({ owner }) => owner)).toEqual(['', 'p:anna']);
    expect([
      toolsOf(tenant, 'linear'),
      toolsOf(tenant, 'linear', 'p:anna'),
      toolsOf(tenant, 'linear', 'p:ben'),
    ]).toEqual([['a', 'b'], ['private'], undefined]);
  });

  it('B072: survives the store word for word', async () => {
    const tenant = await aKnownTenant('linear');
    const tool = aTool('x', {
      inputSchema: { type: 'object', $defs: { a: {} }, $anchor: 'top' },
      'x-text': '\u0000 é \ud83d\ude00',
    });
    await tenant.registry.keepList(await tenant.server('linear'), '', texts([tool]));
    expect(definitionOf(tenant.registry.known(ACME)?.byName.get('linear')?.lists.get('')?.tools[0])).toEqual(tool);
  });

  it('B168: found at another address is not offered after the server has moved', async () => {
    const tenant = await aKnownTenant('linear');
    await tenant.registry.keepList(await tenant.server('linear'), '', texts([aTool('a')]));
    tenant.define('linear', { title: 'still there' });
    await tenant.refresh();
    expect(toolsOf(tenant, 'linear')).toEqual(['a']);
    tenant.define('linear', { url: 'https://moved.test/mcp' });
    await tenant.refresh();
    expect(toolsOf(tenant, 'linear')).toBeUndefined();
  });

  it('that the store gives back broken is an empty one and harms nothing', async () => {
    const tenant = await aKnownTenant('linear');
    await tenant.registry.keepList(await tenant.server('linear'), '', texts([aTool('a')]));
    for (const toolsJson of ['{', '7', '[null]']) {
      tenant.catalogs.rows = tenant.catalogs.rows.map((row) => ({ ...row, toolsJson }));
      await tenant.refresh();
      expect(toolsOf(tenant, 'linear')).toEqual([]);
    }
  });

  it('B078: with a tool nested five thousand levels deep is kept without it', async () => {
    const tenant = await aKnownTenant('linear');
    const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${'}'.repeat(5_000)}`) as unknown;
    await tenant.registry.keepList(
      await tenant.server('linear'),
      '',
      texts([aTool('deep', { inputSchema: deep }), aTool('a')]),
    );
    expect(toolsOf(tenant, 'linear')).toEqual(['a']);
    expect(tenant.registry.known(ACME)?.byName.get('linear')?.lists.get('')?.dropped).toMatchObject([{ name: 'deep' }]);
  });
});
