import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createScopeStore } from '../../src/store/scope-needs.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { addServer, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;
const acme = tenantId('acme');

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

const aStore = () => createScopeStore(nodes.next());

describe('the scopes that calls were found to lack', () => {
  it('add up over tools and refusals, each once (B171)', async () => {
    const key = { tenantId: acme, serverId: await addServer(nodes.next(), acme, 'adds'), owner: 'p:ada' };
    expect(await aStore().list(key)).toEqual([]);
    await aStore().add(key, 'read_note', ['notes:read'], NOW);
    await aStore().add(key, 'write_note', ['notes:write'], NOW);
    await aStore().add(key, 'write_note', ['notes:write', 'admin', 'notes:read'], NOW + 1);
    expect(await aStore().list(key)).toEqual(['admin', 'notes:read', 'notes:write']);
  });

  it('are all kept when twenty calls find something at once, on two nodes', async () => {
    const key = { tenantId: acme, serverId: await addServer(nodes.next(), acme, 'many'), owner: 'p:ada' };
    await Promise.all(Array.from({ length: 20 }, (_, n) => aStore().add(key, 't', [`s${n}`], NOW)));
    expect(await aStore().list(key)).toHaveLength(20);
  });

  it('are those of one person of one tenant for one server', async () => {
    const serverId = await addServer(nodes.next(), acme, 'apart');
    const key = { tenantId: acme, serverId, owner: 'p:ada' };
    await aStore().add(key, '', ['mine'], NOW);
    const other = await addServer(nodes.next(), acme, 'other');
    for (const one of [
      { ...key, owner: 'p:ADA' },
      { ...key, tenantId: tenantId('beta') },
      { ...key, serverId: other },
    ]) {
      expect(await aStore().list(one)).toEqual([]);
      await aStore().add(one, '', ['theirs'], NOW);
    }
    expect(await aStore().list(key)).toEqual(['mine']);
  });

  it('are forgotten for one person, or for everybody where the server moved', async () => {
    const serverId = await addServer(nodes.next(), acme, 'moves');
    const [ada, bob] = ['p:ada', 'p:bob'].map((owner) => ({ tenantId: acme, serverId, owner })) as [
      { tenantId: typeof acme; serverId: typeof serverId; owner: string },
      { tenantId: typeof acme; serverId: typeof serverId; owner: string },
    ];
    for (const key of [ada, bob]) await aStore().add(key, 't', ['s'], NOW);
    await aStore().forget(acme, serverId, 'p:ada');
    expect([await aStore().list(ada), await aStore().list(bob)]).toEqual([[], ['s']]);
    await aStore().forget(tenantId('beta'), serverId);
    expect(await aStore().list(bob)).toEqual(['s']);
    await aStore().forget(acme, serverId);
    expect(await aStore().list(bob)).toEqual([]);
  });

  it('go with their server (B170)', async () => {
    const key = { tenantId: acme, serverId: await addServer(nodes.next(), acme, 'leaves'), owner: 'p:ada' };
    await aStore().add(key, 't', ['s'], NOW);
    await createServerStore(nodes.next()).remove(acme, 'leaves');
    expect(await aStore().list(key)).toEqual([]);
  });
});
