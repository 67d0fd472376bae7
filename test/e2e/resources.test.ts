// The resources and templates of all servers as one list each, from which what is read comes from the right server.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { itemsIn, keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, RAW_KINDS, useScene, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { OWN_ERROR } from '../support/upstreams/offering-answers.ts';
import { ITEM, ODD_URI, README, resourceItem, templateItem } from '../support/upstreams/offering-items.ts';

const scene = useScene();
const [, RESOURCES, TEMPLATES] = LISTS;
const OPEN = { requireKey: false };
const resources = (...uris: string[]) => ({ resources: uris.map((uri) => resourceItem(uri)) });
const read = async (agent: RawAgent, uri: unknown): Promise<string> =>
  saidIn(await agent.request('resources/read', { uri }));
const told = (server: string, uri: string): string => `keybearer://${server}/${uri}`;

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('each is listed as its server describes it', async () => {
    const tenant = await scene.tenant({ s: without(await scene.offering(era, OPEN)) });
    const agent = await tenant.raw(kind);
    expect(itemsIn(await agent.request('resources/list'), RESOURCES)).toContainEqual(JSON.parse(README));
    expect(itemsIn(await agent.request('resources/templates/list'), TEMPLATES)).toEqual([JSON.parse(ITEM)]);
  });

  it('each is read from its server, under its own URI, and arrives unharmed', async () => {
    const offer = resources(ODD_URI, 'bin://logo');
    const tenant = await scene.tenant({ s: without(await scene.offering(era, { ...OPEN, offer })) });
    const agent = await tenant.raw(kind);
    const result = await agent.request('resources/read', { uri: ODD_URI });
    expect(result).toMatchObject({
      contents: [{ uri: ODD_URI, text: `who=anonymous;at=keyed;uri=${ODD_URI}`, 'x-new': { n: 1 } }],
      'x-future': { '': 1 },
      _meta: { 'vendor/key': 'kept', 'keybearer/origin': { server: 's', trust: 'outside' } },
    });
    expect(await agent.request('resources/read', { uri: 'bin://logo' })).toMatchObject({
      contents: [{ uri: 'bin://logo', blob: 'AAECAwT/' }],
    });
  });

  it.each([
    ['item://{id}/data', 'item://7/data'],
    ['file:///tree/{+path}', 'file:///tree/a/b/c.md'],
    ['find://all{?q,lang}', 'find://all?q=a%2Fb&lang=de'],
  ])('what comes from the template %s is read from its server', async (template, uri) => {
    const mine = { resources: [], templates: [templateItem(template)] };
    const none = { ...resources('other://x'), templates: [templateItem('other://{x}/data')] };
    const tenant = await scene.tenant({
      a: without(await scene.offering(era, { ...OPEN, name: 'a', offer: none })),
      b: without(await scene.offering(era, { ...OPEN, name: 'b', offer: mine })),
    });
    expect(await read(await tenant.raw(kind), uri)).toBe(`who=anonymous;at=b;uri=${uri}`);
  });

  it("a server's own error stays its own", async () => {
    const offer = resources('broken://x');
    const tenant = await scene.tenant({ s: without(await scene.offering(era, { ...OPEN, offer })) });
    const agent = await tenant.raw(kind);
    await expect(agent.request('resources/read', { uri: 'broken://x' })).rejects.toMatchObject(OWN_ERROR);
  });

  it('of every page of a server', async () => {
    const uris = ['r:e', 'r:a', 'r:d', 'r:b', 'r:c'];
    const templates = uris.map((uri) => `${uri}/{x}`);
    const offer = { ...resources(...uris), templates: templates.map(templateItem) };
    for (const paging of [{ kind: 'size', size: 2 } as const, { kind: 'empty-cursor' } as const]) {
      const tenant = await scene.tenant({ s: without(await scene.offering(era, { ...OPEN, offer, paging })) });
      const agent = await tenant.raw(kind);
      expect([...(await keysOf(agent, RESOURCES))].sort()).toEqual([...uris].sort());
      expect([...(await keysOf(agent, TEMPLATES))].sort()).toEqual([...templates].sort());
    }
  });
});

describe.each(RAW_KINDS)('for %s', (kind) => {
  const twoServers = async (a: object, b: object) =>
    scene.tenant({
      a: without(await scene.offering('modern', { ...OPEN, name: 'a', offer: { resources: [], templates: [], ...a } })),
      b: without(await scene.offering('legacy', { ...OPEN, name: 'b', offer: { resources: [], templates: [], ...b } })),
    });

  it('a URI that two servers have is the first one’s; the other’s is told apart, and each is read from its own', async () => {
    const uri = 'file:///docs/a b.md?x=1&y=é#z';
    const agent = await (await twoServers(resources(uri, 'only:a'), resources(uri, 'only:b'))).raw(kind);
    expect([...(await keysOf(agent, RESOURCES))].sort()).toEqual([uri, 'only:a', 'only:b', told('b', uri)].sort());
    expect(await read(agent, uri)).toBe(`who=anonymous;at=a;uri=${uri}`);
    const result = await agent.request('resources/read', { uri: told('b', uri) });
    expect(saidIn(result)).toBe(`who=anonymous;at=b;uri=${uri}`);
    // As the agent knows it, or as the server does.
    expect([uri, told('b', uri)]).toContain((result['contents'] as { uri: string }[])[0]?.uri);
    expect(await read(agent, 'only:b')).toContain('at=b');
  });

  it('a server cannot put itself in the place of what is told apart of another', async () => {
    const uri = 'file:///shared';
    const item = (itemUri: string, at: string) => resourceItem(itemUri, { description: `of ${at}` });
    const a = { resources: [item(uri, 'a'), item(told('b', uri), 'a')] };
    const agent = await (await twoServers(a, { resources: [item(uri, 'b')] })).raw(kind);
    expect(await read(agent, told('b', uri))).toBe(`who=anonymous;at=b;uri=${uri}`);
    const listed = itemsIn(await agent.request('resources/list'), RESOURCES).filter(
      (item) => item['uri'] === told('b', uri),
    );
    expect(listed).toMatchObject([{ description: 'of b' }]);
  });

  it('a template that two servers have can still be filled in for each', async () => {
    const template = 'item://{id}/data';
    const both = { templates: [templateItem(template)] };
    const agent = await (await twoServers(both, both)).raw(kind);
    const found = (await keysOf(agent, TEMPLATES)).map(String);
    expect(found).toHaveLength(2);
    const filled = found.map((one) => one.replace('{id}', '7'));
    expect(new Set(filled).size).toBe(2);
    const said = await Promise.all(filled.map((uri) => read(agent, uri)));
    expect(said.sort()).toEqual(['a', 'b'].map((at) => `who=anonymous;at=${at};uri=item://7/data`));
  });

  it('a listed resource goes before a template of another server that would fit', async () => {
    const uri = 'item://7/data';
    const agent = await (await twoServers({ templates: [templateItem('item://{id}/data')] }, resources(uri))).raw(kind);
    expect(await read(agent, uri)).toContain('at=b');
    expect(await read(agent, 'item://8/data')).toContain('at=a');
  });

  it('lists are the same each time, and for a modern agent private', async () => {
    const uris = ['r:z', 'r:B', 'r:a', 'r:0'];
    const tenant = await twoServers(resources(...uris), resources(...[...uris].reverse()));
    const agent = await tenant.raw(kind);
    const found = await keysOf(agent, RESOURCES);
    expect(found).toHaveLength(8);
    expect(await keysOf(await tenant.raw(kind), RESOURCES)).toEqual(found);
    for (const { method } of [RESOURCES, TEMPLATES]) {
      const result = await agent.request(method);
      if (kind === 'rawModern')
        expect(result).toMatchObject({ resultType: 'complete', ttlMs: expect.any(Number), cacheScope: 'private' });
      else expect(result['resultType']).toBeUndefined();
    }
  });

  it('one that nobody lists, and that several could have, is told as missing, and no server is asked', async () => {
    const [a, b] = [await scene.offering('modern', OPEN), await scene.offering('legacy', OPEN)];
    const tenant = await scene.tenant({ a: without(a), b: without(b) });
    const agent = await tenant.raw(kind);
    const code = kind === 'rawModern' ? -32602 : -32002;
    const strange = [
      'no://thing',
      'item://7/other',
      'item://a/b/data',
      told('nobody', 'file:///docs/readme.md'),
      'keybearer://a/',
      'keybearer://',
      '__proto__',
    ];
    for (const uri of strange) {
      const answer = await (await agent.send('resources/read', { uri })).answer();
      expect(objectAt(answer, 'error'), uri).toMatchObject({ code });
    }
    for (const uri of [7, '', null, undefined, {}])
      expect(await (await agent.send('resources/read', { uri })).answer()).toHaveProperty('error');
    for (const { seen } of [a, b]) expect(seen.filter(({ method }) => method === 'resources/read')).toEqual([]);
  });

  it('one that no list has, such as a link in a result, is sought at the only server, and nowhere else', async () => {
    const upstream = await scene.offering('modern', { ...OPEN, name: 'a', offer: { templates: [] } });
    const tools = await scene.open('legacy');
    const tenant = await scene.tenant({ a: without(upstream), tools: without(tools) });
    const agent = await tenant.raw(kind);
    await expect(agent.request('resources/read', { uri: 'link://x' })).rejects.toMatchObject({
      message: 'Resource not found',
    });
    // A second one that could have it is down: the first is not told of what may be the other's.
    const down = await scene.offering('legacy', OPEN);
    await down.close();
    await tenant.put('b', without(down));
    const before = upstream.seen.filter(({ method }) => method === 'resources/read').length;
    await expect(agent.request('resources/read', { uri: 'link://of-b' })).rejects.toThrow();
    expect(upstream.seen.filter(({ method }) => method === 'resources/read').length - before).toBe(0);
  });
});
