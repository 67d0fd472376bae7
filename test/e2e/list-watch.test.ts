// List changes at an upstream reach every agent that listens, once for a burst, and nobody listens for nothing.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ERAS, RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';

const scene = useScene();
const has = async (agent: { listTools(): Promise<{ tools: readonly { name: string }[] }> }, name: string) =>
  (await agent.listTools()).tools.some((tool) => tool.name === name);

describe.each(ERAS)('a %s server', (era) => {
  it('B087: whose list changes is read again once for a burst, and agents on both nodes hear of it', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const node = await scene.node();
    const agents = [await tenant.raw('rawLegacy'), await scene.side(tenant.id, tenant.key, node).raw('rawModern')];
    let heard = 0;
    for (const agent of agents) {
      await agent.listTools();
      await agent.callTool('s__whoami');
      await agent.onListChanged(() => heard++);
    }
    await upstream.until(() => upstream.counters.openStreams === 2, 'both nodes to listen');
    const before = upstream.counters.lists;
    for (const name of ['one', 'two', 'three']) upstream.addTool(name);
    upstream.removeTool('fail');
    await eventually('both to hear', () => heard >= 2);
    for (const agent of agents) {
      await eventually('the new tools', () => has(agent, 's__three'));
      expect(await has(agent, 's__fail')).toBe(false);
    }
    expect(upstream.counters.lists - before, 'once on each node').toBeLessThanOrEqual(2);
    expect(heard).toBeLessThanOrEqual(4);
  });

  it.each(RAW_KINDS)('is listened to for %s also when nothing was called yet', async (kind) => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    await (await tenant.raw(kind)).listTools();
    const agent = await scene.side(tenant.id, tenant.key, await scene.node()).raw(kind);
    await agent.listTools();
    let heard = 0;
    await agent.onListChanged(() => heard++);
    await upstream.until(() => upstream.counters.openStreams > 0, 'somebody to listen');
    upstream.addTool('late');
    await eventually('the change', () => heard > 0);
    expect(await has(agent, 's__late')).toBe(true);
  });

  it('is no longer listened to when the last agent has gone', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agents = [await tenant.raw('rawLegacy', 'ada'), await tenant.raw('rawModern', 'bob')];
    for (const agent of agents) await agent.onListChanged(() => {});
    await agents[0]?.callTool('s__whoami');
    await upstream.until(() => upstream.counters.openStreams === 1, 'the proxy to listen');
    await agents[0]?.delete();
    await agents[0]?.close().catch(() => {});
    expect(upstream.counters.openStreams).toBe(1);
    await agents[1]?.close();
    await upstream.until(() => upstream.counters.openStreams === 0, 'the proxy to leave');
  });
});

describe('while an agent listens', () => {
  const clock = new FakeClock();
  const timed = useScene({ clock });

  const listening = async () => {
    const upstream = await timed.open('legacy');
    const tenant = await timed.tenant({ s: without(upstream) });
    const agent = await tenant.raw('rawLegacy');
    await agent.callTool('s__whoami');
    const { stream } = await agent.get();
    await upstream.until(() => upstream.counters.openStreams === 1, 'the proxy to listen');
    return { upstream, stream };
  };

  it.each(ERAS)('T27: a %s server whose list never rests is read once a second, and told of as often', async (era) => {
    const upstream = await timed.open(era);
    const tenant = await timed.tenant({ s: without(upstream) });
    const agent = await tenant.raw('rawModern');
    await agent.callTool('s__whoami');
    let heard = 0;
    await agent.onListChanged(() => heard++);
    await upstream.until(() => upstream.counters.openStreams === 1, 'the proxy to listen');
    const before = upstream.counters.lists;
    for (let n = 0; n < 1_000; n++) {
      upstream.addTool(`new-${n}`);
      if (n % 50 !== 49) continue;
      // Time for what was said to arrive, and for what was read to be told.
      for (let turn = 0; turn < 3; turn++) await agent.listTools();
      clock.advance(100);
    }
    await eventually('the last of it', async () => {
      clock.advance(500);
      return has(agent, 's__new-999');
    });
    const reads = upstream.counters.lists - before;
    expect(reads).toBeGreaterThan(0);
    expect(reads, 'in two seconds, and once more').toBeLessThanOrEqual(4);
    expect(heard).toBeLessThanOrEqual(reads);
  });

  it('B011: it gets a sign of life each 25 seconds', async () => {
    const { stream } = await listening();
    clock.advance(25_000);
    await eventually('the sign of life', () => stream?.text.includes('\n: keep-alive\n\n') ?? false);
  });

  it('its servers are heard beyond the idle time', async () => {
    const { upstream, stream } = await listening();
    clock.advance(600_000);
    await upstream.until(
      () => upstream.counters.deletes === 0 || upstream.counters.initializes > 1,
      'the proxy to listen still or again',
    );
    await upstream.until(() => upstream.counters.openStreams === 1, 'the stream');
    upstream.addTool('late');
    await eventually('the change', () => {
      clock.advance(200);
      return (stream?.messages.length ?? 0) > 0;
    });
  });
});
