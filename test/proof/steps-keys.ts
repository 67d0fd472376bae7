// Keys are given, shared, replaced, taken away and refused.
import fc from 'fast-check';
import { judge } from './judge.ts';
import {
  COMMAND,
  type HttpName,
  LABELS,
  type Label,
  type Model,
  nameOf,
  SERVERS,
  type ServerName,
  tenantOf,
} from './model.ts';
import { burst, id, label, node, server } from './places.ts';
import { type Step, step, whoami, whoamiAll } from './step.ts';
import { KINDS, type World } from './world.ts';

export const credentialPath = (label: Label, server: ServerName): string =>
  `/tenants/${tenantOf(label)}/servers/${server}/credentials/${nameOf(label)}`;

/** As upstreams say it. */
const whoHolds = (model: Model, key: string): string => (model.ledger.get(key)?.labels ?? []).join('+');

/** The upstream takes the new key before the proxy has it, and the old one until the proxy does. */
export async function giveKey(
  model: Model,
  world: World,
  node: number,
  label: Label,
  server: ServerName,
  key = model.newKey([label], server),
): Promise<void> {
  if (server !== COMMAND) world.upstreams[server].server.keys.set(key, whoHolds(model, key));
  await world.node(node).adminOk('PUT', credentialPath(label, server), { secret: key });
  model.held(label, server).change(key, node);
}

function refuseKey(model: Model, world: World, server: HttpName, key: string | undefined): void {
  if (key === undefined) return;
  model.accepted.delete(key);
  world.upstreams[server].server.keys.delete(key);
}

const whose = fc.record({ node, label, server });

const give = step('give', whose, async (model, world, { node, label, server }) => {
  await giveKey(model, world, node, label, server);
  judge(model, world, [await whoami(world, { seat: { label, kind: 'rawModern', node }, server }, 1)]);
});

/** Equal keys, of one tenant's people or of several's. */
const share = step(
  'share',
  fc.record({ node, server, labels: fc.uniqueArray(label, { minLength: 2, maxLength: 3 }), id }),
  async (model, world, { node, server, labels, id }) => {
    const key = model.newKey(labels, server);
    for (const label of labels) await giveKey(model, world, node, label, server, key);
    const places = labels.map((label) => ({ seat: { label, kind: 'rawLegacy', node } as const, server }));
    judge(model, world, await whoamiAll(world, places, id));
  },
);

const rotate = step('rotate', fc.record({ of: whose, places: burst, id }), async (model, world, { of, places, id }) => {
  const { node, label, server } = of;
  const old = model.held(label, server).now;
  const own = KINDS.map((kind) => ({ seat: { label, kind, node }, server }));
  const others = places.filter(({ seat }) => seat.label !== label || seat.node !== node);
  const [asked] = await Promise.all([
    whoamiAll(world, [...own, ...others], id),
    giveKey(model, world, node, label, server),
  ]);
  judge(model, world, asked);
  refuseKey(model, world, server, old);
});

const forget = step('forget', whose, async (model, world, { node, label, server }) => {
  const held = model.held(label, server);
  const { status } = await world.node(node).admin('DELETE', credentialPath(label, server));
  if (status !== (held.now === undefined ? 404 : 204)) throw new Error(`A key was deleted with ${status}`);
  held.change(undefined, node);
  judge(model, world, [await whoami(world, { seat: { label, kind: 'rawLegacy', node }, server }, 1)]);
});

const refuse = step('refuse', fc.record({ label, server }), async (model, world, { label, server }) => {
  refuseKey(model, world, server, model.held(label, server).now);
});

const takeAgain = step('takeAgain', fc.record({ label, server }), async (model, world, { label, server }) => {
  const key = model.held(label, server).now;
  if (key === undefined) return;
  model.accepted.add(key);
  world.upstreams[server].server.keys.set(key, whoHolds(model, key));
});

export const keySteps: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [6, give],
  [8, share],
  [10, rotate],
  [5, forget],
  [5, refuse],
  [5, takeAgain],
];

/** Everyone starts with a key. */
export async function giveEveryone(model: Model, world: World): Promise<void> {
  for (const server of SERVERS) for (const label of LABELS) await giveKey(model, world, 0, label, server);
}
