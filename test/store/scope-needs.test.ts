import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GrantKey } from '../../src/credential/renewal-store.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
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

  it('are fifty and 4 KiB for one tool at most, what was found first stays, however often a server says more', async () => {
    const key = { tenantId: acme, serverId: await addServer(nodes.next(), acme, 'grows'), owner: 'p:ada' };
    await aStore().add(key, 'many', ['z-first'], NOW);
    for (let n = 0; n < 12; n++)
      await aStore().add(
        key,
        'many',
        Array.from({ length: 100 }, (_, i) => `s-${n}-${i}`),
        NOW,
      );
    const many = await aStore().list(key);
    expect([many.length, many.includes('z-first'), many.includes('s-0-48')]).toEqual([50, true, true]);
    await aStore().forget(acme, key.serverId);
    for (let n = 0; n < 12; n++) await aStore().add(key, 'long', [`${n}`.padStart(1_000, '\u00e9')], NOW);
    expect(await aStore().list(key)).toHaveLength(2);
    await aStore().add(key, 'too-long', ['x'.repeat(5_000), 'short'], NOW);
    expect(await aStore().list(key)).toContain('short');
    expect((await aStore().list(key)).join(' ').length).toBeLessThan(4_096);
  });

  it('go with the credential of their person, and no other’s do (B216)', async () => {
    const serverId = await addServer(nodes.next(), acme, 'parts');
    const credentials = createCredentialStore(nodes.next());
    const kept = { kind: 'grant', binding: 'b', sealed: Buffer.of(1), details: {} } as const;
    const [ada, bob, other] = ['p:ada', 'p:bob', 'p:cleo'].map((owner) => ({ tenantId: acme, serverId, owner })) as [
      GrantKey,
      GrantKey,
      GrantKey,
    ];
    for (const key of [ada, bob, other]) {
      await credentials.put({ ...key, ...kept, binding: key === other ? 'moved' : 'b' }, NOW);
      await aStore().add(key, 't', ['s'], NOW);
    }
    await credentials.put({ ...ada, ...kept }, NOW);
    expect(await aStore().list(ada), 'signing in anew forgets nothing').toEqual(['s']);
    await credentials.remove(acme, serverId, 'p:ada');
    await credentials.removeOthers(acme, serverId, 'b', NOW + 1);
    expect([await aStore().list(ada), await aStore().list(bob), await aStore().list(other)]).toEqual([[], ['s'], []]);
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
