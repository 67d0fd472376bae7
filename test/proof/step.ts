// One step: what it is drawn from, what it does, and how it is printed when it fails. And the question that most ask.
import fc from 'fast-check';
import { within } from '../support/within.ts';
import { ask } from './asking.ts';
import type { Asked } from './judge.ts';
import type { HttpName, Model } from './model.ts';
import type { Seat, World } from './world.ts';

export type Step = fc.AsyncCommand<Model, World>;

export function step<T>(
  name: string,
  args: fc.Arbitrary<T>,
  run: (model: Model, world: World, args: T) => Promise<void>,
) {
  return args.map(
    (value): Step => ({
      check: () => true,
      run: (model, world) => within(run(model, world, value), name, 20_000),
      toString: () => `${name}(${JSON.stringify(value)})`,
    }),
  );
}

export interface Place {
  readonly seat: Seat;
  readonly server: HttpName;
}

export async function whoami(world: World, { seat, server }: Place, id: number): Promise<Asked> {
  const agent = await world.agent(seat);
  const question = world.nextQuestion();
  const since = performance.now();
  const outcome = await ask(agent, { id, tool: `${server}__whoami`, args: { by: seat.label, server, question } });
  return { tool: 'whoami', seat, server, question, since, outcome };
}

export const whoamiAll = (world: World, places: readonly Place[], id: number): Promise<Asked[]> =>
  Promise.all(places.map((place) => whoami(world, place, id)));
