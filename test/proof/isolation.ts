// Whatever happens in whatever order: nobody is ever answered, or asked for, with somebody else's key, and
// nobody hears, sees or takes over what is another's.
//
// A failure prints seed and path, and the steps, already made fewer. To see it again, give fc.assert the
// printed `seed` and `path`, and fc.commands the printed `replayPath`.
import fc from 'fast-check';
import { expect } from 'vitest';
import { within } from '../support/within.ts';
import { Model } from './model.ts';
import type { Step } from './step.ts';
import { steps } from './steps.ts';
import { giveEveryone } from './steps-keys.ts';
import { World } from './world.ts';

/** At most, and half as many in the mean: far fewer runs are needed than there may be. */
const STEPS_A_RUN = 1_000;
const MAX_RUNS = 80;
/**
 * A bound, not what it takes: some 30 ms of processor time a step were measured, which other work on the machine
 * makes several times as long. Shrinking a failure counts in.
 */
export const LONGEST_MS = 600_000;
/** Each step has a bound of its own; so have the begin and the end, for what hangs there would fail without a name. */
const EDGE_MS = 60_000;

async function runAll(commands: Iterable<Step>): Promise<number> {
  const world = await within(World.open(), 'the world to open', EDGE_MS);
  const close = (): Promise<void> => within(world.close(), 'the world to close', EDGE_MS);
  try {
    const model = new Model();
    await within(giveEveryone(model, world), 'keys for everyone', EDGE_MS);
    await fc.asyncModelRun(() => ({ model, real: world }), commands);
    const leaked = world.lines.filter((line) => line.includes('canary-'));
    expect(leaked, 'lines of the log with a key').toEqual([]);
  } catch (error) {
    // What was found counts, whatever the end says to it.
    await close().catch(() => undefined);
    throw error;
  }
  await close();
  return [...commands].length;
}

/** Throws at the first thing that must not be. */
export async function keepApart(leastSteps: number): Promise<void> {
  let done = 0;
  const property = fc.asyncProperty(fc.commands(steps, { maxCommands: STEPS_A_RUN, size: 'max' }), async (commands) => {
    // Enough; this also bounds how long a failure is made smaller.
    if (done < leastSteps) done += await runAll(commands);
  });
  await fc.assert(property, {
    numRuns: MAX_RUNS,
    plugins: [fc.interruptAfterTimeLimit(LONGEST_MS, { failOnInterrupt: true })],
  });
  expect(done).toBeGreaterThanOrEqual(leastSteps);
}
