// Agents' keys are replaced, and whole tenants go and come again under their old names.
import fc from 'fast-check';
import { judge } from './judge.ts';
import { LABELS, type TenantName, tenantOf } from './model.ts';
import { id, node, tenant } from './places.ts';
import { type Step, step, whoamiAll } from './step.ts';
import type { AgentKey, Seat, World } from './world.ts';

const seatOf = (label: (typeof LABELS)[number], node: number): Seat => ({ label, kind: 'rawLegacy', node });
const peopleOf = (tenant: TenantName) => LABELS.filter((label) => tenantOf(label) === tenant);

/** A session and a stream that were opened with the key of before. */
async function before(world: World, tenant: TenantName, node: number) {
  const label = peopleOf(tenant)[0];
  if (label === undefined) throw new Error('Nobody is there');
  const seat = seatOf(label, node);
  const { session } = await world.agent(seat);
  if (!world.isListening(seat)) await world.listen(seat);
  const stream = world.streams.get(`${seat.label} ${seat.kind} ${seat.node}`)?.stream;
  return { session: String(session), stream };
}

/** What was opened with the old key ends with it, and opens for no other. */
async function judgeOld(world: World, node: number, old: AgentKey, opened: Awaited<ReturnType<typeof before>>) {
  if ((await world.statusWith(node, old)) !== 401) throw new Error('An agent key outlived its end');
  await opened.stream?.ended();
}

async function judgeSession(world: World, node: number, key: AgentKey, session: string): Promise<void> {
  const status = await world.statusWith(node, key, { 'mcp-session-id': session });
  if (status !== 404) throw new Error(`A session of another key was answered with ${status}`);
}

const renewAgentKey = step('renewAgentKey', fc.record({ node, tenant }), async (_model, world, { node, tenant }) => {
  const opened = await before(world, tenant, node);
  const old = await world.renewAgentKey(node, tenant);
  await judgeSession(world, node, world.agentKey(tenant), opened.session);
  await world.node(node).adminOk('DELETE', `/tenants/${tenant}/keys/${old.id}`);
  await judgeOld(world, node, old, opened);
  await world.empty(({ label }) => tenantOf(label) === tenant);
});

/** Nothing of the old one is left for the new one's people, though all names are the same. */
const recreate = step('recreate', fc.record({ node, tenant, id }), async (model, world, { node, tenant, id }) => {
  const opened = await before(world, tenant, node);
  const old = world.agentKey(tenant);
  await world.node(node).adminOk('DELETE', `/tenants/${tenant}`);
  await judgeOld(world, node, old, opened);
  await world.found(node, tenant);
  model.emptied(tenant, node);
  await world.empty(({ label }) => tenantOf(label) === tenant);
  await judgeSession(world, node, world.agentKey(tenant), opened.session);
  if ((await world.statusWith(node, old)) !== 401) throw new Error('A key of the old tenant opens the new one');
  const places = peopleOf(tenant).map((label) => ({ seat: seatOf(label, node), server: 'legacy' as const }));
  judge(model, world, await whoamiAll(world, places, id));
});

export const tenantSteps: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [2, renewAgentKey],
  [2, recreate],
];
