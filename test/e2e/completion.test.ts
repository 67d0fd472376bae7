// Completion of a prompt's or a template's argument comes from the server that it belongs to.
import { describe, expect, it } from 'vitest';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { OWN_ERROR } from '../support/upstreams/offering-answers.ts';
import { promptItem, templateItem } from '../support/upstreams/offering-items.ts';

const scene = useScene();
const [PROMPTS, , TEMPLATES] = LISTS;
const METHOD = 'completion/complete';
const OPEN = { requireKey: false };
const prompt = (name: unknown, value = 'é') => ({
  ref: { type: 'ref/prompt', name },
  argument: { name: 'who', value },
  context: { arguments: { how: 'x' } },
});
const template = (uri: unknown) => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '7' } });

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it.each(['/mcp', '/mcp/s'])(
    'at %s the server hears its own name for it, and all else as it was sent',
    async (path) => {
      const upstream = await scene.offering(era);
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      await tenant.setSecret('s', 'ada', 'key-ada');
      const agent = await tenant.raw(kind, 'ada', path);
      const asked = { ...prompt(path === '/mcp' ? 's__greet' : 'greet'), 'x-new': [1] };
      const result = await agent.request(METHOD, asked);
      expect(saidIn(result)).toBe('who=ada;at=keyed;ref=greet;who=é;context={"arguments":{"how":"x"}}');
      expect(result).toMatchObject({
        completion: { total: 4, hasMore: false, 'x-new': 1 },
        'x-future': { '': 1 },
        _meta: { 'vendor/key': 'kept', 'keybearer/origin': { server: 's', trust: 'outside' } },
      });
      expect(saidIn(await agent.request(METHOD, template('item://{id}/data')))).toBe(
        'who=ada;at=keyed;ref=item://{id}/data;id=7;context=null',
      );
      const sent = upstream.seen.find(({ method }) => method === METHOD)?.body as Record<string, never>;
      expect(objectAt(sent, 'params')).toMatchObject({ ...prompt('greet'), 'x-new': [1] });
    },
  );

  it("a server's own error stays its own", async () => {
    const offer = { prompts: [promptItem('broken')], templates: [templateItem('broken://{id}')] };
    const tenant = await scene.tenant({ s: without(await scene.offering(era, { ...OPEN, offer })) });
    const agent = await tenant.raw(kind);
    for (const asked of [prompt('s__broken'), template('broken://{id}')])
      await expect(agent.request(METHOD, asked)).rejects.toMatchObject(OWN_ERROR);
  });
});

describe.each(RAW_KINDS)('for %s', (kind) => {
  it('what is told apart is completed by its own server', async () => {
    const offer = { prompts: [promptItem('p')], templates: [templateItem('item://{id}/data')] };
    const [a, b] = [
      await scene.offering('legacy', { ...OPEN, name: 'a', offer }),
      await scene.offering('modern', { ...OPEN, name: 'b', offer }),
    ];
    const tenant = await scene.tenant({ a: without(a, { prefix: 'x' }), b: without(b, { prefix: 'x' }) });
    const agent = await tenant.raw(kind);
    const asked = [
      ...(await keysOf(agent, PROMPTS)).map((name) => prompt(name)),
      ...(await keysOf(agent, TEMPLATES)).map((uri) => template(uri)),
    ];
    const said = await Promise.all(asked.map(async (params) => saidIn(await agent.request(METHOD, params))));
    expect(said.map((text) => text.split(';').slice(1, 3).join(';')).sort()).toEqual(
      ['a', 'b'].flatMap((at) => [`at=${at};ref=item://{id}/data`, `at=${at};ref=p`]),
    );
  });

  it('of what nobody lists, or what is no reference, there is none, and no server is asked', async () => {
    const servers = [await scene.offering('modern', OPEN), await scene.offering('legacy', OPEN)] as const;
    const tenant = await scene.tenant({ s: without(servers[0]), t: without(servers[1]) });
    const agent = await tenant.raw(kind);
    const argument = { name: 'who', value: '' };
    for (const asked of [
      prompt('greet'),
      prompt('s__nothing'),
      prompt(7),
      template('no://{thing}'),
      template(undefined),
      { argument },
      { ref: null, argument },
      { ref: 'ref/prompt', argument },
      { ref: { type: 'ref/other', name: 's__greet' }, argument },
    ])
      await expect(agent.request(METHOD, asked), JSON.stringify(asked)).rejects.toMatchObject({ code: -32602 });
    for (const { seen } of servers) expect(seen.filter(({ method }) => method === METHOD)).toEqual([]);
  });

  it('a server without completion is not asked for it', async () => {
    const upstream = await scene.offering('legacy', { ...OPEN, lacks: ['completions'] });
    const tenant = await scene.tenant({ s: without(upstream) });
    for (const [path, name] of [
      ['/mcp', 's__greet'],
      ['/mcp/s', 'greet'],
    ] as const) {
      const answer = await (await (await tenant.raw(kind, 'ada', path)).send(METHOD, prompt(name))).answer();
      // Either there is no such thing, or nothing to propose.
      const code = objectAt(answer, 'error')['code'];
      if (code === undefined) expect(answer).toMatchObject({ result: { completion: { values: [] } } });
      else expect([-32601, -32602]).toContain(code);
    }
    expect(upstream.seen.filter(({ method }) => method === METHOD)).toEqual([]);
  });
});
