// What goes wrong between the proxy and a server while something beside tools is asked for is told plainly, and once.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, useScene, withKeys, without } from '../support/scene.ts';
import type { Exchange } from '../support/upstreams/keyed-exchange.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
const OPEN = { requireKey: false };
const completion = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } };
const ASKED: readonly (readonly [string, JsonObject])[] = [
  ['prompts/get', { name: 'greet' }],
  ['resources/read', { uri: 'file:///docs/readme.md' }],
  ['completion/complete', completion],
];
const LISTED = LISTS.map(({ method }) => [method, {}] as const);

/** For each method of which more than the answer matters: what the server does instead. */
const all = (answer: (exchange: Exchange) => void) =>
  Object.fromEntries([...ASKED, ...LISTED].map(([method]) => [method, answer]));
const errorOf = async (agent: RawAgent, method: string, params: JsonObject): Promise<JsonObject> =>
  objectAt(await (await agent.send(method, params)).answer(), 'error');

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('a server that does not answer in time is told by name, and asked once', async () => {
    const upstream = await scene.offering(era, { ...OPEN, own: all(() => undefined) });
    const tenant = await scene.tenant({ s: without(upstream, { timeoutMs: 150 }) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const [method, params] of [...ASKED, ...LISTED]) {
      expect(await errorOf(agent, method, params), method).toMatchObject({
        code: -32603,
        message: expect.stringContaining('s did not answer'),
        data: { error: 'upstream_timeout', server: 's', timeoutMs: 150 },
      });
      expect(upstream.seen.filter((seen) => seen.method === method)).toHaveLength(1);
    }
  });

  it('a server that is down is told by name', async () => {
    const upstream = await scene.offering(era, OPEN);
    const tenant = await scene.tenant({ s: without(upstream) });
    await upstream.close();
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const [method, params] of ASKED)
      expect(await errorOf(agent, method, params), method).toMatchObject({
        code: -32603,
        data: { error: 'upstream_unavailable', server: 's' },
      });
  });

  it('an answer that is larger than the server may give is refused, with its size; a smaller one is whole', async () => {
    const big = (exchange: Exchange): void => exchange.result(JSON.stringify({ filler: 'x'.repeat(5_000) }));
    const upstream = await scene.offering(era, { ...OPEN, own: all(big) });
    const tenant = await scene.tenant({
      s: without(upstream, { maxResultBytes: 4_096 }),
      t: without(upstream, { maxResultBytes: 6_000 }),
    });
    const [small, large] = [await tenant.raw(kind, 'ada', '/mcp/s'), await tenant.raw(kind, 'ada', '/mcp/t')];
    for (const [method, params] of ASKED) {
      const error = await errorOf(small, method, params);
      expect(error, method).toMatchObject({ code: -32603, data: { error: 'upstream_protocol', server: 's' } });
      expect(error['message'], method).toMatch(/\b50\d\d bytes\b.*4096/);
      expect(await large.request(method, params), method).toMatchObject({ filler: 'x'.repeat(5_000) });
    }
  });

  it('an error of a server that is larger than it may be keeps its code and how it begins', async () => {
    const shout = (exchange: Exchange): void =>
      exchange.error(4711, `begin ${'x'.repeat(9_000)}`, { a: 'y'.repeat(9_000) });
    const upstream = await scene.offering(era, { ...OPEN, own: all(shout) });
    const tenant = await scene.tenant({ s: without(upstream, { maxResultBytes: 4_096 }) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const [method, params] of ASKED) {
      const error = await errorOf(agent, method, params);
      expect(error, method).toMatchObject({ code: 4711, message: expect.stringMatching(/^begin x/) });
      expect(JSON.stringify(error).length, method).toBeLessThan(4_096);
    }
  });

  it('B095: what a server does not know after all is its own error, and ends nothing', async () => {
    const status = era === 'modern' ? 404 : 200;
    const own = all((exchange) => exchange.error(-32601, 'Method not found', undefined, status));
    const upstream = await scene.offering(era, { ...OPEN, own });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    await agent.listTools();
    const { initializes, discovers } = upstream.counters;
    for (const [method, params] of [...ASKED, ...LISTED])
      expect(await errorOf(agent, method, params), method).toMatchObject({ code: -32601 });
    expect(textOf(await agent.callTool('whoami'))).toMatch(/^who=anonymous;/);
    expect(upstream.counters).toMatchObject({ initializes, discovers, deletes: 0 });
  });

  it('a server that has forgotten its sessions is asked anew, and nothing runs twice', async () => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const [method, params] of ASKED) {
      await agent.request(method, params);
      upstream.restart();
      const before = upstream.seen.filter((seen) => seen.method === method).length;
      expect(saidIn(await agent.request(method, params)), method).toMatch(/^who=ada;/);
      // A session that is not known any more is a request that did not run.
      const tries = upstream.seen.filter((seen) => seen.method === method).length - before;
      expect(tries, method).toBe(era === 'legacy' ? 2 : 1);
    }
  });

  it('a server is asked no more at once than its definition says; the others wait', async () => {
    const waiting: Exchange[] = [];
    const upstream = await scene.offering(era, {
      ...OPEN,
      own: { 'prompts/get': (exchange) => void waiting.push(exchange) },
    });
    const tenant = await scene.tenant({ s: without(upstream, { maxConcurrentCalls: 2 }) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    const asked = [1, 2, 3, 4].map((n) => agent.request('prompts/get', { name: 'greet', arguments: { n: String(n) } }));
    const came = (): number => upstream.seen.filter(({ method }) => method === 'prompts/get').length;
    await upstream.until(() => came() === 2);
    const other = await tenant.raw(kind, 'ada');
    await other.listTools();
    expect(came(), 'two at once').toBe(2);
    const answerAll = (): void => {
      for (const exchange of waiting.splice(0))
        exchange.result(JSON.stringify({ n: objectAt(exchange.asked.message.params, 'arguments')['n'] }));
    };
    answerAll();
    await upstream.until(() => came() === 4);
    answerAll();
    expect((await Promise.all(asked)).map(({ n }) => n)).toEqual(['1', '2', '3', '4']);
  });
});
