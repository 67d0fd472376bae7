// Stopping: not ready, no new work, calls in flight finish, streams end by the protocol, everything closes.
import { expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { startTestApp } from '../support/app.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene();

it.each(RAW_KINDS)('a node that stops finishes the calls of %s and ends its streams', async (kind) => {
  const upstream = await scene.open('legacy');
  const tenant = await scene.tenant({ s: without(upstream) });
  const node = await scene.node();
  const agent = await scene.side(tenant.id, tenant.key, node).raw(kind);
  await agent.listTools();
  const { body, headers } = agent.compose('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const { stream } = kind === 'rawModern' ? await agent.post(body, headers) : await agent.get();
  const idle = await agent.send('tools/list');
  await idle.text();
  const running = agent.callTool('s__slow', { ms: 700 });
  await upstream.until(() => upstream.executed.get('slow') === 1);
  // On a connection that is open already, as a load balancer holds them.
  const stopping = node.stop();
  await within(stream?.ended() ?? Promise.reject(new Error('no stream')), 'the stream to end', 500);
  if (kind === 'rawModern')
    expect(stream?.messages.at(-1)).toMatchObject({ id: body['id'], result: { resultType: 'complete' } });
  await expect(fetch(`${node.url}/readyz`)).rejects.toThrow();
  expect(textOf(await within(running, 'the running call'))).toMatch(/^who=/);
  await within(stopping, 'the stop', 4_000);
  await upstream.until(() => upstream.counters.deletes === 1, 'the upstream session to be ended');
  expect(textOf(await (await tenant.raw(kind)).callTool('s__whoami')), 'the other node goes on').toMatch(/^who=/);
});

it('two apps in one process know nothing of each other', async () => {
  const upstream = await scene.open('legacy');
  const other = await startTestApp();
  try {
    const tenant = await scene.tenant({ s: without(upstream) });
    await other.tenant(tenant.id);
    const key = await other.agentKey(tenant.id);
    const agent = await scene.side(tenant.id, key, other).raw('rawModern');
    expect((await agent.listTools()).tools).toEqual([]);
    await expect(scene.side(tenant.id, tenant.key, other).raw('rawModern')).rejects.toThrow();
  } finally {
    await other.stop();
  }
});
