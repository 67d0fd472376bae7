// How long, and at which doors, what a modern agent carries for us is good (T15).
import { expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { askable, inputIn, withAnswer } from '../support/asking.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useScene, withKeys } from '../support/scene.ts';
import { postKey } from '../support/sign-in.ts';
import type { JsonObject } from '../support/upstreams/message.ts';

const clock = new FakeClock();
const scene = useScene({ clock });
const LIFE_MS = 10 * 60_000;
const WHOAMI = { name: 'notes__whoami', arguments: { n: 1 } };
const REFUSED = { error: { data: { error: 'invalid_request', reason: 'invalid_request_state' } } };

async function aState() {
  const upstream = await scene.keyed('modern');
  const tenant = await scene.tenant({ notes: withKeys(upstream), other: withKeys(upstream) });
  for (const server of ['notes', 'other']) await tenant.setSecret(server, 'ada', 'key-ada');
  const bob = await askable(scene, tenant, 'rawModern');
  const { url, requestState } = inputIn(await bob.request('tools/call', WHOAMI));
  // From now on every try with a good state would run at once.
  expect((await postKey(url, 'key-bob')).status).toBe(200);
  await tenant.setSecret('other', 'bob', 'key-bob');
  const tryAt = async (path: string, params: JsonObject = WHOAMI, app = scene.app): Promise<JsonObject> => {
    const agent = await askable(scene, tenant, 'rawModern', { path, app });
    return (await agent.send('tools/call', withAnswer(params, { requestState }, 'accept'))).answer();
  };
  return { upstream, tryAt };
}

it('is good for ten minutes to the last millisecond, and then on no node', async () => {
  const { upstream, tryAt } = await aState();
  const node = await scene.node();
  clock.advance(LIFE_MS - 1);
  const { result } = await tryAt('/mcp');
  expect(textOf(result as JsonObject)).toMatch(/^who=bob;/);
  clock.advance(1);
  const before = upstream.counters.calls;
  for (const app of [scene.app, node]) expect(await tryAt('/mcp', WHOAMI, app)).toMatchObject(REFUSED);
  expect(upstream.counters.calls).toBe(before);
});

// It belongs to a server and its tool. Both doors lead to these, so the door is no part of the call.
it('is good at either door of its server, and at no other server’s', async () => {
  const { upstream, tryAt } = await aState();
  for (const [path, name] of [
    ['/mcp', 'notes__whoami'],
    ['/mcp/notes', 'whoami'],
  ] as const)
    expect(textOf((await tryAt(path, { ...WHOAMI, name }))['result'] as JsonObject), path).toMatch(/^who=bob;/);
  const before = upstream.counters.calls;
  expect(await tryAt('/mcp/other', { ...WHOAMI, name: 'whoami' })).toMatchObject(REFUSED);
  expect(upstream.counters.calls).toBe(before);
});
