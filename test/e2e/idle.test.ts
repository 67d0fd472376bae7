// A connection nobody uses is closed politely, and one with a call in flight never is.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Scene, withKeys, without } from '../support/scene.ts';

const clock = new FakeClock();
const scene = new Scene({ clock, limits: { idleTimeoutMs: 300_000, maxConnectionsPerTenant: 2 } });
beforeAll(() => scene.begin());
afterEach(() => scene.clear());
afterAll(() => scene.end());

it('ends the session with DELETE after the idle time, and opens another for the next call', async () => {
  const upstream = await scene.open('legacy');
  const tenant = await scene.tenant({ s: without(upstream) });
  const agent = await tenant.raw('rawLegacy');
  await agent.callTool('s__whoami');
  clock.advance(299_000);
  await agent.callTool('s__whoami');
  clock.advance(299_000);
  expect(upstream.counters).toMatchObject({ initializes: 1, deletes: 0 });
  clock.advance(3_000);
  await upstream.until(() => upstream.counters.deletes === 1, 'the DELETE');
  expect(upstream.sessions.size).toBe(0);
  expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=/);
  expect(upstream.counters.initializes).toBe(2);
});

it('never ends one with a call in flight, however long that takes (B012)', async () => {
  const upstream = await scene.open('legacy');
  const tenant = await scene.tenant({ s: without(upstream, { timeoutMs: 3_600_000 }) });
  const agent = await tenant.raw('rawLegacy');
  const call = agent.callTool('s__slow', { ms: 300 });
  await upstream.until(() => upstream.executed.get('slow') === 1);
  clock.advance(900_000);
  expect(textOf(await call)).toMatch(/^who=/);
  expect(upstream.counters.deletes).toBe(0);
});

it('makes room inside the tenant by ending the one used longest ago, never a busy one, and refuses when all are busy', async () => {
  const upstream = await scene.keyed('legacy', {
    keys: ['ada', 'bob', 'carol'].map((who) => [`key-${who}`, who] as const),
  });
  const tenant = await scene.tenant({ s: withKeys(upstream) });
  for (const who of ['ada', 'bob', 'carol']) await tenant.setSecret('s', who, `key-${who}`);
  const [ada, bob, carol] = await Promise.all(['ada', 'bob', 'carol'].map((who) => tenant.raw('rawModern', who)));
  const busy = ada?.callTool('s__slow', { ms: 1_500 });
  await upstream.until(() => upstream.executed.get('slow') === 1);
  await bob?.callTool('s__whoami');
  expect(textOf((await carol?.callTool('s__whoami')) ?? {})).toMatch(/^who=carol/);
  await eventually("bob's session to end", () =>
    [...upstream.sessions.values()].every(({ principal }) => principal !== 'bob'),
  );
  const alsoBusy = carol?.callTool('s__slow', { ms: 1_200 });
  await upstream.until(() => upstream.executed.get('slow') === 2);
  const refused = await bob?.send('tools/call', { name: 's__whoami', arguments: {} });
  expect([refused?.status, refused?.headers['retry-after'], await refused?.answer()]).toMatchObject([
    503,
    '1',
    { error: { data: { error: 'overloaded' } } },
  ]);
  for (const call of [busy, alsoBusy]) expect(textOf((await call) ?? {})).toMatch(/^who=/);
});
