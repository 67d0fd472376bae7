// T19: what one is shown, nobody else is: not another tenant with a server of the same address, not another
// person where lists are personal, not whoever comes after under the same name.
import { describe, expect, it } from 'vitest';
import type { Listing } from '../support/agents/agent.ts';
import { RAW_KINDS, type TenantSide, useScene, withKeys, without } from '../support/scene.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
/** Beside its usual tools the server shows each person one that nobody else has. */
const ownTools = (who: string): readonly string[] => [`${who}s_tool`];
const own = ({ tools }: Listing): readonly string[] =>
  tools.map(({ name }) => name).filter((name) => name.endsWith('s_tool'));

const startUpstream = (): Promise<KeyedServer> => scene.keyed('modern', { ownTools, cacheScope: 'public' });

/** Ada and Bob, each with a key of their own; the same names in every tenant. */
async function giveKeys(tenant: TenantSide, principals: readonly string[]): Promise<void> {
  for (const principal of principals) await tenant.setSecret('s', principal, `key-${principal}`);
}

describe.each(RAW_KINDS)('for %s', (kind) => {
  const listOf = async (tenant: TenantSide, principal: string, path?: string): Promise<readonly string[]> =>
    own(await (await tenant.raw(kind, principal, path)).listTools());

  /** Whether a name leads anywhere for somebody. */
  const isKnown = async (tenant: TenantSide, principal: string, name: string): Promise<boolean> =>
    (await tenant.raw(kind, principal)).callTool(name).then(
      () => true,
      () => false,
    );

  it.each(['shared', 'principal'])(
    'two tenants with the same URL have different lists (catalog: %s)',
    async (catalog) => {
      const upstream = await startUpstream();
      const [one, other] = [
        await scene.tenant({ s: withKeys(upstream, { catalog }) }),
        await scene.tenant({ s: withKeys(upstream, { catalog }) }),
      ];
      await giveKeys(one, ['ada']);
      expect(await listOf(one, 'ada')).toEqual(['s__adas_tool']);
      // The same person by name, who has no key there.
      expect((await (await other.raw(kind, 'ada')).listTools()).tools.map(({ name }) => name)).toEqual(['s__connect']);
      await giveKeys(other, ['bob']);
      for (const path of ['/mcp', '/mcp/s'])
        for (const principal of ['ada', 'bob', 'eve']) {
          expect((await listOf(one, principal, path)).join(), `${principal} at ${path}`).not.toContain('bob');
          expect((await listOf(other, principal, path)).join(), `${principal} at ${path}`).not.toContain('ada');
        }
      expect(await listOf(other, 'bob')).toEqual(['s__bobs_tool']);
      expect(await isKnown(one, 'ada', 's__bobs_tool')).toBe(false);
      expect(await isKnown(other, 'bob', 's__adas_tool')).toBe(false);
    },
  );

  it('two people of a tenant have their own lists with catalog: principal, whoever asks first, by whatever door', async () => {
    const tenant = await scene.tenant({ s: withKeys(await startUpstream(), { catalog: 'principal' }) });
    await giveKeys(tenant, ['ada', 'bob']);
    for (const path of ['/mcp', '/mcp/s']) {
      const prefix = path === '/mcp' ? 's__' : '';
      for (const [principal, name] of [
        ['ada', 'adas_tool'],
        ['bob', 'bobs_tool'],
        ['ada', 'adas_tool'],
        ['eve', undefined],
      ] as const)
        expect(await listOf(tenant, principal, path), `${principal} at ${path}`).toEqual(
          name === undefined ? [] : [`${prefix}${name}`],
        );
    }
    expect(await isKnown(tenant, 'ada', 's__bobs_tool')).toBe(false);
    expect(await isKnown(tenant, 'ada', 's__adas_tool')).toBe(true);
  });

  it('two people of a tenant have the first one’s list with catalog: shared, and the second adds nothing to it', async () => {
    const tenant = await scene.tenant({ s: withKeys(await startUpstream(), { catalog: 'shared' }) });
    await giveKeys(tenant, ['ada', 'bob']);
    for (const principal of ['bob', 'ada', 'eve'])
      expect(await listOf(tenant, principal), principal).toEqual(['s__adas_tool']);
    expect(await isKnown(tenant, 'bob', 's__bobs_tool')).toBe(false);
  });

  it('a tenant made anew under the same name has nothing of what was', async () => {
    const upstream = await startUpstream();
    const node = await scene.node();
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await giveKeys(tenant, ['ada']);
    const elsewhere = (key: string): TenantSide => scene.side(tenant.id, key, node);
    expect(await listOf(tenant, 'ada')).toEqual(['s__adas_tool']);
    expect(await listOf(elsewhere(tenant.key), 'bob')).toEqual(['s__adas_tool']);
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}`);
    await scene.app.tenant(tenant.id);
    const anew = scene.side(tenant.id, await scene.app.agentKey(tenant.id));
    expect((await (await anew.raw(kind, 'ada')).listTools()).tools).toEqual([]);
    await anew.put('s', withKeys(upstream));
    for (const side of [anew, elsewhere(anew.key)])
      for (const principal of ['ada', 'bob'])
        expect(
          (await (await side.raw(kind, principal)).listTools()).tools.map(({ name }) => name),
          principal,
        ).toEqual(['s__connect']);
    expect(await isKnown(anew, 'ada', 's__adas_tool')).toBe(false);
    await giveKeys(anew, ['bob']);
    expect(await listOf(anew, 'ada')).toEqual(['s__bobs_tool']);
    // The key that was is no key.
    await expect(tenant.raw(kind, 'ada')).rejects.toMatchObject({ code: 401 });
  });
});

describe('what depends on the caller', () => {
  it('is marked as private, although the server calls its list public', async () => {
    const upstream = await startUpstream();
    const open = await scene.open('modern', { cacheScope: 'public' });
    const mine = withKeys(upstream, { catalog: 'principal' });
    const tenant = await scene.tenant({ s: withKeys(upstream), mine, open: without(open) });
    const ask = async (principal: string, path: string): Promise<void> => {
      const agent = await tenant.raw('rawModern', principal, path);
      const found = [await agent.request('server/discover'), ...(await agent.listTools()).raw];
      for (const result of found) expect(result, `${principal} at ${path}`).toMatchObject({ cacheScope: 'private' });
      expect(objectAt(found[1] ?? {}, '_meta')).toHaveProperty('keybearer/servers');
    };
    for (const path of ['/mcp', '/mcp/s', '/mcp/mine', '/mcp/open']) await ask('ada', path);
    await tenant.setSecret('s', 'ada', 'key-ada');
    await tenant.setSecret('mine', 'ada', 'key-ada');
    for (const path of ['/mcp', '/mcp/s', '/mcp/mine', '/mcp/open'])
      for (const principal of ['ada', 'bob']) await ask(principal, path);
  });
});
