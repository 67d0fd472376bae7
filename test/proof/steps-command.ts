// A command of the operator's: one process for each person at each node, with that person's key in its environment.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { ask, type Outcome } from './asking.ts';
import { COMMAND, COMMAND_TENANT, LABELS, type Model, tenantOf } from './model.ts';
import { id, label, node, seats } from './places.ts';
import { type Step, step } from './step.ts';
import { giveKey } from './steps-keys.ts';
import type { Seat, World } from './world.ts';

/** As the command says whose key it has. */
const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');

async function askCommand(model: Model, world: World, seat: Seat, id: number, tool = 'whoami'): Promise<Outcome> {
  const agent = await world.agent(seat);
  const question = world.nextQuestion();
  const since = performance.now();
  const outcome = await ask(agent, { id, tool: `${COMMAND}__${tool}`, args: { question } });
  const said = `${seat.label} at node ${seat.node} asked the command, and got ${JSON.stringify(outcome)}`;
  const held = model.held(seat.label, COMMAND).possible(seat.node, since);
  if (outcome.kind === 'named') {
    if (!held.some((key) => key !== undefined && digestOf(key) === outcome.who) || outcome.question !== question)
      throw new Error(said);
    const place = `${seat.label}@${COMMAND}@${seat.node}`;
    if ((model.sessions.get(outcome.session) ?? place) !== place) throw new Error(`A process of another: ${said}`);
    model.sessions.set(outcome.session, place);
    return outcome;
  }
  const isOwn = tenantOf(seat.label) === COMMAND_TENANT;
  const isRight =
    outcome.kind === 'not_found'
      ? !isOwn || held.includes(undefined)
      : outcome.kind === 'sign_in_required' || outcome.kind === 'rate_limited'
        ? held.includes(undefined)
        : outcome.kind === 'unavailable' && tool === 'die';
  if (!isRight) throw new Error(said);
  return outcome;
}

const command = step('command', fc.record({ seats, id }), async (model, world, { seats, id }) => {
  await Promise.all(seats.map((seat) => askCommand(model, world, seat, id)));
});

/** The others' processes live on. */
const die = step('die', fc.record({ seats, id }), async (model, world, { seats, id }) => {
  const [first, ...others] = seats;
  if (first === undefined) return;
  // Whoever shares the process may lose a call with it.
  const apart = others.filter(({ label, node }) => label !== first.label || node !== first.node);
  await Promise.all([
    askCommand(model, world, first, id, 'die'),
    ...apart.map((seat) => askCommand(model, world, seat, id)),
  ]);
});

const commandKey = step(
  'commandKey',
  fc.record({ node, label: label.filter((one) => tenantOf(one) === COMMAND_TENANT), isShared: fc.boolean() }),
  async (model, world, { node, label, isShared }) => {
    const labels = isShared ? LABELS.filter((one) => tenantOf(one) === COMMAND_TENANT) : [label];
    const key = model.newKey(labels, COMMAND);
    for (const one of labels) await giveKey(model, world, node, one, COMMAND, key);
  },
);

export const commandSteps: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [4, command],
  [1, die],
  [2, commandKey],
];
