// A method that nobody here knows goes to the server whose door it came through, in that server's era; where there is no
// one server for it there is no such method.
import { describe, expect, it } from 'vitest';
import { ERAS, PAIRINGS, RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { OWN_ERROR, RESULT_TAIL } from '../support/upstreams/offering-answers.ts';
import type { OfferingOptions } from '../support/upstreams/offering-server.ts';

const scene = useScene();
const [UNKNOWN = '', META = ''] = RESULT_TAIL.split(',"_meta":{');
const own: OfferingOptions['own'] = {
  'vendor/echo': (exchange) => {
    const { principal, message } = exchange.asked;
    const { _meta, ...params } = message.params;
    exchange.result(`{"who":"${principal}","params":${JSON.stringify(params)},${RESULT_TAIL}}`);
  },
  'vendor/broken': (exchange) => exchange.error(OWN_ERROR.code, OWN_ERROR.message, OWN_ERROR.data),
};
const kindOf = { legacy: 'rawLegacy', modern: 'rawModern' } as const;
const notFound = (kind: string): number => (kind === 'rawModern' ? 404 : 200);

describe.each(ERAS)('from a %s agent to a server of its era', (era) => {
  const stage = async () => {
    const upstream = await scene.offering(era, { own });
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    return { upstream, tenant, agent: await tenant.raw(kindOf[era], 'ada', '/mcp/s') };
  };

  it('it arrives as it was sent, with the caller’s own key, and its answer comes back unharmed', async () => {
    const { agent } = await stage();
    const params = { a: 'é', list: [null, 1.5], nested: { arguments: {} } };
    const response = await agent.send('vendor/echo', params);
    expect(objectAt(await response.answer(), 'result')).toMatchObject({ who: 'ada', params });
    const text = await response.answerText();
    expect(text).toContain(UNKNOWN);
    expect(text).toContain(META);
  });

  it('what the server answers with an error is its own', async () => {
    const { agent } = await stage();
    await expect(agent.request('vendor/broken')).rejects.toMatchObject(OWN_ERROR);
    const response = await agent.send('vendor/nothing');
    expect(await response.answer()).toMatchObject({ error: { code: -32601 } });
    expect((await agent.listTools()).tools.length).toBeGreaterThan(0);
  });

  it.each([
    { only: ['echo'] },
    { except: ['echo'] },
    { prompts: { only: ['greet'] } },
    { resources: { only: ['file:///*'] } },
    { gated: true },
  ])('there is none at a server of which an admin keeps something back: %j', async (limit) => {
    const upstream = await scene.offering(era, { own, requireKey: false });
    const tenant = await scene.tenant({ s: without(upstream, limit) });
    const response = await (await tenant.raw(kindOf[era], 'ada', '/mcp/s')).send('vendor/echo');
    expect([response.status, await response.answer()]).toMatchObject([
      notFound(kindOf[era]),
      { error: { code: -32601 } },
    ]);
    expect(upstream.seen.filter(({ method }) => method === 'vendor/echo')).toEqual([]);
  });

  it('without a key it is not sent, and the person is asked to sign in', async () => {
    const { upstream, tenant } = await stage();
    const agent = await tenant.raw(kindOf[era], 'bob', '/mcp/s');
    await expect(agent.request('vendor/echo')).rejects.toMatchObject({
      code: 403,
      data: { error: 'sign_in_required', url: expect.any(String) },
    });
    expect(upstream.seen.filter(({ method }) => method === 'vendor/echo')).toEqual([]);
  });
});

describe.each(PAIRINGS.filter(({ agent, upstream }) => agent !== kindOf[upstream]))(
  'from $agent to a $upstream server',
  ({ agent: kind, upstream: era }) => {
    it('there is no such method, for it may mean something else there', async () => {
      const upstream = await scene.offering(era, { own, requireKey: false });
      const tenant = await scene.tenant({ s: without(upstream) });
      const response = await (await tenant.raw(kind, 'ada', '/mcp/s')).send('vendor/echo');
      expect([response.status, await response.answer()]).toMatchObject([notFound(kind), { error: { code: -32601 } }]);
      expect(upstream.seen.filter(({ method }) => method === 'vendor/echo')).toEqual([]);
    });
  },
);

describe.each(RAW_KINDS)('from %s', (kind) => {
  it('at the door of all servers there is no such method, and none of them is asked', async () => {
    const servers = [
      await scene.offering('legacy', { own, requireKey: false }),
      await scene.offering('modern', { own, requireKey: false }),
    ];
    const tenant = await scene.tenant({ a: without(servers[0] as never), b: without(servers[1] as never) });
    const response = await (await tenant.raw(kind)).send('vendor/echo', { name: 'a__echo' });
    expect([response.status, await response.answer()]).toMatchObject([notFound(kind), { error: { code: -32601 } }]);
    for (const { seen } of servers) expect(seen.filter(({ method }) => method === 'vendor/echo')).toEqual([]);
  });

  it('how a connection begins is between each agent and the proxy', async () => {
    const era = kind === 'rawModern' ? 'modern' : 'legacy';
    const upstream = await scene.offering(era, { requireKey: false });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    await agent.listTools();
    const before = upstream.seen.length;
    const response = await agent.send(kind === 'rawModern' ? 'initialize' : 'server/discover');
    expect(await response.answer()).toMatchObject({ error: { code: expect.any(Number) } });
    expect(upstream.seen.slice(before).map(({ method }) => method)).toEqual([]);
  });

  it('a method that a header cannot carry ends in a plain answer', async () => {
    const era = kind === 'rawModern' ? 'modern' : 'legacy';
    const upstream = await scene.offering(era, { requireKey: false });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const method of ['vendor/é', 'vendor/a\r\nx-evil: 1', '']) {
      const { body, headers } = agent.compose(method);
      const sentinel = `=?base64?${Buffer.from(method).toString('base64')}?=`;
      const response = await agent.post(body, kind === 'rawModern' ? { ...headers, 'mcp-method': sentinel } : headers);
      expect(response.status, method).toBeLessThan(500);
      expect(await response.answer(), method).toHaveProperty('error.code');
    }
    expect(upstream.seen.filter(({ headers }) => headers['x-evil'] !== undefined)).toEqual([]);
  });
});
