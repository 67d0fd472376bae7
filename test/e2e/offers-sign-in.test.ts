// Without a key, or with one that is no longer taken, what is beside tools asks for a sign-in as tools do: lists say so,
// and what is read is a JSON-RPC error with the link.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { RpcError } from '../support/agents/raw-result.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { itemsIn, LISTS, saidIn, serversIn } from '../support/offers.ts';
import { PAIRINGS, useScene, withKeys } from '../support/scene.ts';
import { postKey } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { isObject } from '../support/upstreams/message.ts';

// Time stands still: the feed reads everything anew each minute, and would find a newer key before the request does.
const scene = useScene({ clock: new FakeClock() });
const ASKED = [
  ['prompts/get', { name: 'greet' }],
  ['resources/read', { uri: 'file:///docs/readme.md' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } }],
] as const;

/** The link of the refusal that the request has to meet. */
async function linkFor(agent: RawAgent, method: string, params: object): Promise<string> {
  const refused: unknown = await agent.request(method, { ...params }).catch((error: unknown) => error);
  expect(refused, method).toMatchObject({
    code: 403,
    data: { error: 'sign_in_required', server: 's', url: expect.any(String), expiresAt: expect.any(String) },
  });
  const data = refused instanceof RpcError && isObject(refused.data) ? refused.data : {};
  return String(data['url']);
}

const asksWith = ({ seen }: KeyedServer, key: string, method: string): number =>
  seen.filter((one) => one.method === method && one.headers.authorization === `Bearer ${key}`).length;

/** Requests that were turned away; ending a session with the dead key is none. */
const refusals = ({ seen }: KeyedServer): number =>
  seen.filter(({ http, principal }) => http === 'POST' && principal === undefined).length;

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it.each(ASKED)('%s asks for the sign-in, and works after it', async (method, params) => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    const agent = await tenant.raw(kind, 'bob', '/mcp/s');
    const link = await linkFor(agent, method, params);
    expect(upstream.seen.filter((one) => one.method === method)).toEqual([]);
    await postKey(link, 'key-bob');
    expect(saidIn(await agent.request(method, params))).toMatch(/^who=bob;/);
  });

  it.each(['/mcp', '/mcp/s'])('lists at %s are empty and say that a sign-in is missing', async (path) => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    await (await tenant.raw(kind, 'ada', path)).request('prompts/list');
    const agent = await tenant.raw(kind, 'bob', path);
    for (const list of LISTS) {
      const result = await agent.request(list.method);
      expect(itemsIn(result, list), list.method).toEqual([]);
      expect(serversIn(result), list.method).toMatchObject({ s: { state: 'sign_in_required' } });
    }
    await tenant.setSecret('s', 'bob', 'key-bob');
    for (const list of LISTS)
      expect(itemsIn(await agent.request(list.method), list).length, list.method).toBeGreaterThan(0);
  });

  it.each(ASKED)('%s with a key that is not taken any more asks after one refusal', async (method, params) => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    await agent.request(method, params);
    upstream.keys.delete('key-ada');
    await linkFor(agent, method, params);
    expect(asksWith(upstream, 'key-ada', method)).toBe(2);
  });

  it.each(ASKED)('%s goes on by itself with a newer key, and never tries a third time', async (method, params) => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    await agent.request(method, params);
    // The newer key is in the table, but this node has not heard of it: its notice was lost.
    const node = await scene.node();
    upstream.keys.delete('key-ada');
    upstream.keys.set('key-ada-2', 'ada');
    await scene.app.sql('ALTER TABLE credentials DISABLE TRIGGER USER');
    try {
      await scene.side(tenant.id, tenant.key, node).setSecret('s', 'ada', 'key-ada-2');
      expect(saidIn(await agent.request(method, params))).toMatch(/^who=ada;/);
      expect([asksWith(upstream, 'key-ada', method), asksWith(upstream, 'key-ada-2', method)]).toEqual([2, 1]);
      await scene.side(tenant.id, tenant.key, node).setSecret('s', 'ada', 'key-ada-3');
    } finally {
      await scene.app.sql('ALTER TABLE credentials ENABLE TRIGGER USER');
    }
    upstream.keys.clear();
    const before = refusals(upstream);
    await linkFor(agent, method, params);
    expect(refusals(upstream) - before, 'never a third try').toBeLessThanOrEqual(2);
  });

  it('who is disconnected has nothing any more, at once', async () => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agents = await Promise.all(['/mcp', '/mcp/s'].map((path) => tenant.raw(kind, 'ada', path)));
    for (const agent of agents)
      for (const list of LISTS) expect(itemsIn(await agent.request(list.method), list)).not.toEqual([]);
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/s/credentials/ada`);
    for (const agent of agents)
      for (const list of LISTS) {
        const result = await agent.request(list.method);
        expect(itemsIn(result, list), list.method).toEqual([]);
        expect(serversIn(result), list.method).toMatchObject({ s: { state: 'sign_in_required' } });
      }
    const [, agent] = agents;
    for (const [method, params] of ASKED) if (agent !== undefined) await linkFor(agent, method, params);
  });

  it('a list whose key is not taken any more is empty and says so', async () => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    upstream.keys.delete('key-ada');
    for (const path of ['/mcp', '/mcp/s'])
      for (const list of LISTS) {
        const result = await (await tenant.raw(kind, 'ada', path)).request(list.method);
        expect(itemsIn(result, list), `${list.method} at ${path}`).toEqual([]);
        expect(serversIn(result), `${list.method} at ${path}`).toMatchObject({ s: { state: 'sign_in_required' } });
      }
  });
});
