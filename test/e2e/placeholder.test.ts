// One tool to connect with before the first sign-in; behind it the server's own, for the whole tenant.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { type Listing, textOf } from '../support/agents/agent.ts';
import { ERAS, PAIRINGS, RAW_KINDS, useScene, withKeys } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

const scene = useScene();
const names = ({ tools }: Listing) => tools.map(({ name }) => name);
const stateOf = ({ raw }: Listing, server: string) =>
  objectAt(objectAt(objectAt(raw[0] ?? {}, '_meta'), 'keybearer/servers'), server)['state'];

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('sees one tool to connect with, and everybody of the tenant on every node the rest within a second of the first sign-in', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const stranger = await scene.tenant({ notes: withKeys(upstream) });
    const node = await scene.node();
    const ada = await tenant.raw(kind, 'ada');
    const bob = await scene.side(tenant.id, tenant.key, node).raw(kind, 'bob');
    const eve = await stranger.raw(kind, 'eve');
    for (const agent of [ada, bob, eve]) {
      const listing = await agent.listTools();
      expect([names(listing), stateOf(listing, 'notes')]).toEqual([['notes__connect'], 'sign_in_required']);
    }
    expect(upstream.seen, 'nobody asked the server without a key').toEqual([]);
    const heard = Promise.all(
      [ada, bob].map((agent) => new Promise<void>((resolve) => void agent.onListChanged(resolve))),
    );
    let eveHeard = false;
    await eve.onListChanged(() => (eveHeard = true));

    const link = linkIn(await ada.callTool('notes__connect'));
    expect((await postKey(link, 'key-ada')).status).toBe(200);
    await within(heard, 'both to hear of it', 1_000);
    for (const agent of [ada, bob]) {
      const listing = await agent.listTools();
      expect(names(listing)).toContain('notes__whoami');
      expect(names(listing), 'B089').not.toContain('notes__connect');
    }
    // What bob is offered he still needs a key of his own for.
    expect(await bob.callTool('notes__whoami')).toMatchObject({
      isError: true,
      structuredContent: { error: 'sign_in_required' },
    });
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(names(await eve.listTools())).toEqual(['notes__connect']);
    expect(eveHeard).toBe(false);
  });
});

describe.each(ERAS)('the tools of a %s server', (era) => {
  it('are there again after a restart, although the server is down', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    await upstream.close();
    const node = await scene.node();
    const ada = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    expect(names(await ada.listTools())).toContain('notes__whoami');
  });

  it('are shown to nobody but their finder with catalog "principal" (B225)', async () => {
    const upstream = await scene.keyed(era, { ownTools: (who) => [`${who}s_tool`] });
    const tenant = await scene.tenant({ notes: withKeys(upstream, { catalog: 'principal' }) });
    const node = await scene.node();
    const [ada, bob] = [
      await tenant.raw('rawLegacy', 'ada'),
      await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'bob'),
    ];
    let bobHeard = false;
    await bob.onListChanged(() => (bobHeard = true));
    const adaHeard = new Promise<void>((resolve) => void ada.onListChanged(resolve));
    await postKey(linkIn(await ada.callTool('notes__connect')), 'key-ada');
    await within(adaHeard, 'ada to hear of it', 1_000);
    expect(names(await ada.listTools())).toContain('notes__adas_tool');
    expect(names(await bob.listTools())).toEqual(['notes__connect']);
    await expect(bob.callTool('notes__adas_tool')).rejects.toMatchObject({ code: -32602 });
    expect(bobHeard).toBe(false);
    await postKey(linkIn(await bob.callTool('notes__connect')), 'key-bob');
    await eventually('bob to hear of it', () => bobHeard, 1_000);
    expect(names(await bob.listTools())).toContain('notes__bobs_tool');
    expect(names(await bob.listTools())).not.toContain('notes__adas_tool');
    expect(names(await ada.listTools())).not.toContain('notes__bobs_tool');
  });
});

describe.each(RAW_KINDS)('for %s', (kind) => {
  it('a tool of the server called connect does not take the place of the stand-in (B067)', async () => {
    const upstream = await scene.keep(
      startScripted({
        tools: ['connect', 'other'],
        onCall: ({ result }) => result('{"content":[{"type":"text","text":"theirs"}]}'),
      }),
    );
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'any');
    const ada = await tenant.raw(kind, 'ada');
    const found = names(await ada.listTools());
    expect(found).not.toContain('s__connect');
    const theirs = found.find((name) => name.startsWith('s__connect-')) ?? '';
    expect(textOf(await ada.callTool(theirs))).toBe('theirs');
    expect(await ada.callTool('s__connect')).toMatchObject({ structuredContent: { status: 'connected' } });
    expect(upstream.calls).toBe(1);
  });

  it('a server whose tenant-owned key is missing offers nothing and says what is to do', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ s: { url: upstream.url, credential: { owner: 'tenant', kind: 'secret' } } });
    const ada = await tenant.raw(kind, 'ada');
    const listing = await ada.listTools();
    expect([names(listing), stateOf(listing, 's')]).toEqual([[], 'unavailable']);
    await scene.app.adminOk('PUT', `/tenants/${tenant.id}/servers/s/credential`, { secret: 'key-ada' });
    expect(names(await ada.listTools())).toContain('s__whoami');
    expect(textOf(await (await tenant.raw(kind, 'bob')).callTool('s__whoami'))).toMatch(/^who=ada;/);
  });
});
