// What is cancelled, left or too late is cancelled upstream as well; every wait has a bound.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { ERAS, PAIRINGS, useScene, without } from '../support/scene.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

const scene = useScene();

/** A legacy server is told so by the id it knows; a modern one sees the stream closed. */
const stopped = (upstream: KeyedServer, era: 'legacy' | 'modern', tool: string) =>
  upstream.until(() => {
    if (upstream.counters.aborted !== 1) return false;
    if (era === 'modern') return true;
    const call = upstream.seen.find(({ text }) => text.includes(`"name":"${tool}"`));
    const told = upstream.seen.filter(({ method }) => method === 'notifications/cancelled');
    const ids = told.map(({ body }) => objectAt(body as JsonObject, 'params')['requestId']);
    return ids.length === 1 && ids[0] === (call?.body as JsonObject)['id'];
  }, 'the cancel');

describe.each(PAIRINGS)('a call of $agent to a $upstream server', ({ agent: kind, upstream: era }) => {
  it('is cancelled upstream when its agent goes away', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const leave = new AbortController();
    const call = agent.callTool('s__never', {}, { signal: leave.signal });
    call.catch(() => {});
    await upstream.until(() => upstream.executed.get('never') === 1);
    leave.abort();
    await stopped(upstream, era, 'never');
    expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=/);
    if (era === 'legacy') expect(upstream.counters.initializes, 'the connection lives on').toBe(1);
  });

  it('is cancelled upstream when its time is over, and says that it may have run', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream, { timeoutMs: 200 }) });
    const agent = await tenant.raw(kind);
    const result = await within(agent.callTool('s__never'), 'the timeout', 2_000);
    expect(result).toMatchObject({ isError: true, structuredContent: { error: 'upstream_timeout', timeoutMs: 200 } });
    expect(textOf(result)).toMatch(/may have run/);
    await stopped(upstream, era, 'never');
    expect(upstream.executed.get('never')).toBe(1);
  });

  it('is not ended by its timeout while the server reports progress', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream, { timeoutMs: 250 }) });
    const agent = await tenant.raw(kind);
    // Nobody asked for progress; it counts all the same.
    expect(textOf(await agent.callTool('s__progress', { count: 8, everyMs: 80 }))).toMatch(/^who=/);
  });

  it('leaves other calls of the same connection alone', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const [ada, bob] = [await tenant.raw(kind, 'ada'), await tenant.raw(kind, 'bob')];
    const leave = new AbortController();
    const left = ada.callTool('s__slow', { ms: 3_000 }, { signal: leave.signal });
    left.catch(() => {});
    // One after the other: both begin a connection at first, and who comes second may wait longer than bob's call takes.
    await upstream.until(() => upstream.executed.get('slow') === 1);
    const kept = bob.callTool('s__slow', { ms: 300 });
    await upstream.until(() => upstream.executed.get('slow') === 2);
    leave.abort();
    expect(textOf(await within(kept, "bob's call", 2_000))).toMatch(/^who=/);
    await stopped(upstream, era, 'slow');
  });
});

describe.each(ERAS)('notifications/cancelled of a legacy agent, over a %s server', (era) => {
  it('stops that very call and gives it no answer (B030, B032)', async () => {
    const one = await scene.open(era);
    const two = await scene.open(era);
    const tenant = await scene.tenant({ one: without(one), two: without(two) });
    const agent = await tenant.raw('rawLegacy');
    const other = await tenant.raw('rawLegacy');
    const call = (who: typeof agent, id: number | string, name: string) =>
      who.post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { ms: 400 } } });
    const stoppedCall = call(agent, 10, 'one__never');
    const sameText = call(agent, '10', 'two__slow');
    const sameNumber = call(other, 10, 'two__slow');
    await one.until(() => one.executed.get('never') === 1);
    await two.until(() => two.executed.get('slow') === 2);
    expect(await agent.notify('notifications/cancelled', { requestId: 10, reason: 'enough' })).toBe(202);
    await stopped(one, era, 'never');
    const response = await within(stoppedCall, 'the response to end', 2_000);
    expect([response.status, await response.text()]).toEqual([202, '']);
    for (const answered of [sameText, sameNumber]) expect((await (await answered).answer())['result']).toBeDefined();
    expect(two.counters.cancelled + two.counters.aborted).toBe(0);
    for (const requestId of [99, 'nobody', null, { a: 1 }, undefined]) {
      expect(await agent.notify('notifications/cancelled', { requestId })).toBe(202);
    }
  });
});
