// Everything that can happen to three tenants, nine people, five servers and two nodes, as steps to be strung
// together at random. Each step judges itself.
import fc from 'fast-check';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { type Outcome, outcomeOf, send } from './asking.ts';
import { type Asked, judge } from './judge.ts';
import { nameOf } from './model.ts';
import { burst, id, label, node, seat, server, tenant, where } from './places.ts';
import { type Place, type Step, step, whoami, whoamiAll } from './step.ts';
import { commandSteps } from './steps-command.ts';
import { hearingSteps } from './steps-hearing.ts';
import { keySteps } from './steps-keys.ts';
import { tenantSteps } from './steps-tenants.ts';
import type { World } from './world.ts';

const call = step('call', fc.record({ place: where, id }), async (model, world, { place, id }) => {
  judge(model, world, [await whoami(world, place, id)]);
});

const callAtOnce = step('callAtOnce', fc.record({ places: burst, id }), async (model, world, { places, id }) => {
  judge(model, world, await whoamiAll(world, places, id));
});

/** Sends a slow call. `running` says whether the upstream runs it, or whether it was answered without. */
async function begin(world: World, { seat, server }: Place, id: number, ms: number) {
  const agent = await world.agent(seat);
  const question = world.nextQuestion();
  const upstream = world.upstreams[server].server;
  const ran = upstream.executed.get('slow') ?? 0;
  const hangUp = new AbortController();
  const since = performance.now();
  const args = { by: seat.label, server, question, ms };
  const outcome = send(agent, { id, tool: `${server}__slow`, args, signal: hangUp.signal }).then(
    (response) => outcomeOf(response, id),
    (error: unknown): Outcome => {
      if (hangUp.signal.aborted) return { kind: 'silent' };
      throw error;
    },
  );
  const asked = outcome.then((got): Asked => ({ tool: 'slow', seat, server, question, since, outcome: got }));
  const runs = upstream.until(() => (upstream.executed.get('slow') ?? 0) > ran, 'a slow call').then(() => true);
  const running = Promise.race([runs, outcome.then(() => false)]);
  // A step that failed before it came to these has said why.
  for (const promise of [asked, runs, running]) promise.catch(() => undefined);
  return { agent, upstream, hangUp, running, asked };
}

/** The same person's other call, over the same connection, goes on. */
const cancel = step('cancel', fc.record({ place: where, id }), async (model, world, { place, id }) => {
  const { seat, server } = place;
  const slow = await begin(world, place, id, 60_000);
  if (!(await slow.running)) return judge(model, world, [await slow.asked]);
  const other = { ...seat, kind: seat.kind === 'rawModern' ? 'rawLegacy' : 'rawModern' } as const;
  const beside = await begin(world, { seat: other, server }, id, 40);
  // Where calls go one by one it runs only afterwards.
  await within(beside.running, 'the other call', 200).catch(() => undefined);
  const { aborted } = slow.upstream.counters;
  if (seat.kind === 'rawModern') slow.hangUp.abort();
  else await slow.agent.notify('notifications/cancelled', { requestId: id });
  const asked = await slow.asked;
  await slow.upstream.until(() => slow.upstream.counters.aborted > aborted, 'the cancelled call to end upstream');
  if (asked.outcome.kind !== 'silent')
    throw new Error(`A cancelled call was answered: ${JSON.stringify(asked.outcome)}`);
  judge(model, world, [{ ...asked, excused: ['silent'] }, await beside.asked]);
});

/** Somebody else says that the request with this id is cancelled, and tries its session. */
const meddle = step(
  'meddle',
  fc.record({ place: where, thief: label, id }),
  async (model, world, { place, thief, id }) => {
    if (thief === place.seat.label) return;
    const slow = await begin(world, place, id, 40);
    await slow.running;
    const own = await world.agent({ label: thief, kind: 'rawLegacy', node: place.seat.node });
    const other = { authorization: String(own.headers['authorization']), 'keybearer-principal': nameOf(thief) };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
    await own.post(cancelled);
    await own.post(cancelled, { 'mcp-session-id': slow.agent.session });
    if (slow.agent.kind === 'rawLegacy') await stealSession(slow.agent.session, other, own.url);
    judge(model, world, [await slow.asked]);
  },
);

async function stealSession(session: string | undefined, headers: Record<string, string>, url: string): Promise<void> {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'legacy__whoami', arguments: {} } };
  for (const [method, text] of [
    ['POST', JSON.stringify(body)],
    ['DELETE', null],
    ['GET', null],
  ] as const) {
    const response = await fetch(url, {
      method,
      body: text,
      headers: { ...usual, ...headers, 'mcp-session-id': session ?? '' },
    });
    await response.body?.cancel();
    if (response.status !== 404)
      throw new Error(`${method} with a stolen session was answered with ${response.status}`);
  }
}

const leave = step('leave', fc.record({ seat, isPolite: fc.boolean() }), (_model, world, { seat, isPolite }) =>
  world.leave(seat, isPolite),
);

const change: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ title: fc.constantFrom('One', 'Two') }),
  fc.record({ maxResultBytes: fc.constantFrom(4_096, 131_072) }),
  fc.record({ maxConcurrentCalls: fc.constantFrom(1, 16) }),
  // Short enough that the sweep finds some idle between two steps.
  fc.record({ idleTimeoutMs: fc.constantFrom(10, 300_000) }),
);

const edit = step('edit', fc.record({ node, tenant, server, change }), async (model, world, args) => {
  const { node, tenant, server, change } = args;
  await world.edit(node, tenant, server, change);
  model.edited(tenant, server, node);
});

const move = step('move', fc.record({ node, tenant, server }), async (model, world, { node, tenant, server }) => {
  await world.edit(node, tenant, server, { url: `${world.urlOf(server)}?moved=${String(world.nextQuestion())}` });
  model.edited(tenant, server, node);
});

const toggle = step('toggle', fc.record({ node, tenant, server }), async (model, world, { node, tenant, server }) => {
  const enabled = model.enabled(tenant, server);
  const isOn = !enabled.now;
  await world.edit(node, tenant, server, { enabled: isOn });
  enabled.change(isOn, node);
  model.edited(tenant, server, node);
});

const reap = step(
  'reap',
  fc.record({ node, tenant, places: burst, id }),
  async (model, world, { node, tenant, places, id }) => {
    const app = world.node(node);
    const { items } = (await app.adminOk('GET', `/tenants/${tenant}/connections`)) as { items: { id: string }[] };
    const [asked] = await Promise.all([
      whoamiAll(world, places, id),
      ...items.map((one) => app.admin('DELETE', `/tenants/${tenant}/connections/${encodeURIComponent(one.id)}`)),
    ]);
    judge(model, world, asked);
  },
);

const crash = step('crash', fc.record({ server, places: burst, id }), async (model, world, { server, places, id }) => {
  world.upstreams[server].server.restart();
  const asked = await whoamiAll(world, places, id);
  // The old transport's stream is gone; who calls just then cannot know.
  judge(
    model,
    world,
    asked.map((one) => (one.server === 'old' ? { ...one, excused: ['unavailable'] } : one)),
  );
});

/** One call surely runs when the cable is cut: it must not run again. */
const cut = step('cut', fc.record({ place: where, places: burst, id }), async (model, world, { place, places, id }) => {
  const slow = await begin(world, place, id + 10, 1_000);
  await slow.running;
  const asking = whoamiAll(world, places, id);
  await world.upstreams[place.server].cable.cut();
  const asked = [await slow.asked, ...(await asking)];
  judge(
    model,
    world,
    asked.map((one) => ({ ...one, excused: ['unavailable', 'not_found'] })),
  );
});

const restart = step('restart', fc.constant(0), async (_model, world) => world.restart());

/** How often each is drawn. */
const WEIGHTS: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [14, call],
  [20, callAtOnce],
  [6, cancel],
  [8, meddle],
  [8, leave],
  [5, edit],
  [2, move],
  [4, toggle],
  [6, reap],
  [5, crash],
  [3, cut],
  [1, restart],
  ...keySteps,
  ...hearingSteps,
  ...tenantSteps,
  ...commandSteps,
];

/** Weighted by repetition: fast-check draws each of these equally. */
export const steps: fc.Arbitrary<Step>[] = WEIGHTS.flatMap(([weight, one]) =>
  Array.from({ length: weight }, () => one),
);
