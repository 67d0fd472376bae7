// What an admin does not let through of a server's prompts and resources is as if it were not there.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { promptItem, resourceItem, templateItem } from '../support/upstreams/offering-items.ts';

const scene = useScene();
const OFFER = {
  prompts: ['greet', 'sum-up', 'sum-down', 'other'].map((name) => promptItem(name)),
  resources: ['file:///docs/a', 'file:///docs/b/c', 'file:///etc/passwd', 'note://1'].map((uri) => resourceItem(uri)),
  templates: ['file:///docs/{x}', 'file:///etc/{x}', 'item://{id}'].map(templateItem),
};
const ONLY = {
  prompts: { only: ['greet', 'sum-*'] },
  resources: { only: ['file:///docs/*', 'note://1'] },
};
const argument = { name: 'x', value: '' };
const completion = (type: string, key: string, value: string): JsonObject => ({
  ref: { type, [key]: value },
  argument,
});

describe.each(PAIRINGS.flatMap((pairing) => ['/mcp', '/mcp/s'].map((path) => ({ ...pairing, path }))))(
  'for $agent over a $upstream server at $path',
  ({ agent: kind, upstream: era, path }) => {
    const prefix = path === '/mcp' ? 's__' : '';
    const stage = async (definition: JsonObject = ONLY) => {
      const upstream = await scene.offering(era, { requireKey: false, offer: OFFER });
      const tenant = await scene.tenant({ s: without(upstream, definition) });
      return { upstream, agent: await tenant.raw(kind, 'ada', path) };
    };

    it('lists have what is let through, and all of it', async () => {
      const { agent } = await stage();
      const found = await Promise.all(LISTS.map(async (list) => [...(await keysOf(agent, list))].sort()));
      expect(found).toEqual([
        [`${prefix}greet`, `${prefix}sum-down`, `${prefix}sum-up`],
        ['file:///docs/a', 'file:///docs/b/c', 'note://1'],
        ['file:///docs/{x}'],
      ]);
    });

    it('what is let through can be had', async () => {
      const { agent } = await stage();
      for (const [method, params] of [
        ['prompts/get', { name: `${prefix}sum-up` }],
        ['resources/read', { uri: 'file:///docs/b/c' }],
        ['resources/read', { uri: 'note://1' }],
        ['resources/read', { uri: 'file:///docs/of-the-template' }],
        ['completion/complete', completion('ref/prompt', 'name', `${prefix}greet`)],
        ['completion/complete', completion('ref/resource', 'uri', 'file:///docs/{x}')],
      ] as const)
        expect(saidIn(await agent.request(method, params)), JSON.stringify(params)).toMatch(/^who=anonymous;/);
    });

    it.each([
      ['prompts/get', (it: string) => ({ name: `${prefix}${it}` }), 'other', 'nobody'],
      ['resources/read', (it: string) => ({ uri: `file:///etc/${it}` }), 'passwd', 'nobody'],
      ['resources/read', (it: string) => ({ uri: `item://${it}` }), 'seven', 'no/thing'],
      ['completion/complete', (it: string) => completion('ref/prompt', 'name', `${prefix}${it}`), 'other', 'nobody'],
      ['completion/complete', (it: string) => completion('ref/resource', 'uri', it), 'item://{id}', 'no://{id}'],
    ] as const)('%s cannot tell what is hidden from what is not there', async (method, make, hidden, missing) => {
      const { upstream, agent } = await stage();
      await keysOf(agent, LISTS[0]);
      const errorFor = async (it: string): Promise<unknown> => {
        const answer = await (await agent.send(method, make(it))).answer();
        return JSON.parse(JSON.stringify(objectAt(answer, 'error')).replaceAll(it, 'IT'));
      };
      const found = await errorFor(hidden);
      const wanted = method === 'resources/read' && kind === 'rawLegacy' ? -32002 : -32602;
      expect(found).toMatchObject({ code: wanted });
      expect(found).toEqual(await errorFor(missing));
      expect(upstream.seen.filter((seen) => seen.method === method)).toEqual([]);
    });

    it('what an admin takes away is gone within a second', async () => {
      const upstream = await scene.offering(era, { requireKey: false, offer: OFFER });
      const tenant = await scene.tenant({ s: without(upstream) });
      const agent = await tenant.raw(kind, 'ada', path);
      expect(await keysOf(agent, LISTS[0])).toHaveLength(OFFER.prompts.length);
      await tenant.put('s', without(upstream, ONLY));
      await eventually('the list', async () => (await keysOf(agent, LISTS[0])).length === 3, 1_000);
      await expect(agent.request('prompts/get', { name: `${prefix}other` })).rejects.toMatchObject({ code: -32602 });
      await tenant.put('s', without(upstream, { ...ONLY, enabled: false }));
      await eventually(
        'the end',
        async () =>
          objectAt(await (await agent.send('prompts/get', { name: `${prefix}greet` })).answer(), 'error')['code'] ===
          -32602,
        1_000,
      );
    });

    it('an empty list lets nothing through', async () => {
      const { agent } = await stage({ prompts: { only: [] }, resources: { only: [] } });
      for (const list of LISTS) expect(await keysOf(agent, list), list.method).toEqual([]);
    });
  },
);

describe.each(['/mcp', '/mcp/s'])('at %s', (path) => {
  it('no way leads out of what is let through', async () => {
    const upstream = await scene.offering('modern', { requireKey: false, offer: OFFER });
    const tenant = await scene.tenant({ s: without(upstream, { resources: { only: ['file:///docs/*'] } }) });
    const agent = await tenant.raw('rawModern', 'ada', path);
    const ways = [
      'file:///docs/../etc/passwd',
      'file:///docs/a/../../etc/passwd',
      'file:///docs/%2e%2e/etc/passwd',
      'file:///docs/.%2E/etc/passwd',
      'file:///docs/..%2fetc%2fpasswd',
      'file:///docs/..\\etc\\passwd',
      'file:///docs/..%5cetc%5cpasswd',
      'file:///docs/..',
      'file:///docs/..?x',
      'file:///docs/..#x',
      'keybearer://s/file:///etc/passwd',
      'keybearer://s/file:///docs/../etc/passwd',
    ];
    const codes = await Promise.all(
      ways.map(async (uri) => {
        const answer = await (await agent.send('resources/read', { uri })).answer();
        return [uri, objectAt(answer, 'error')['code']];
      }),
    );
    expect(codes).toEqual(ways.map((uri) => [uri, -32602]));
    expect(upstream.seen.filter(({ method }) => method === 'resources/read')).toEqual([]);
    // Dots that lead nowhere are dots.
    for (const uri of ['file:///docs/a..b', 'file:///docs/..a', 'file:///docs/...'])
      expect(saidIn(await agent.request('resources/read', { uri }))).toContain(uri);
  });
});
