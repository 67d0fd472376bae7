// Whatever happens in whatever order: nobody is ever answered, or asked for, with somebody else's key.
//
// A failure prints seed and path, and the steps, already made fewer. To see it again, give fc.assert the
// printed `seed` and `path`, and fc.commands the printed `replayPath`.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Model } from './model.ts';
import type { Step } from './step.ts';
import { steps } from './steps.ts';
import { giveEveryone } from './steps-keys.ts';
import { World } from './world.ts';

const LEAST_STEPS = 500;
/** At most, and half as many in the mean: far fewer runs are needed than there may be. */
const STEPS_A_RUN = 200;
const MAX_RUNS = 80;
const LONGEST_MS = 240_000;

async function runAll(commands: Iterable<Step>): Promise<number> {
  const world = await World.open();
  try {
    const model = new Model();
    await giveEveryone(model, world);
    await fc.asyncModelRun(() => ({ model, real: world }), commands);
    const leaked = world.lines.filter((line) => line.includes('canary-'));
    expect(leaked, 'lines of the log with a key').toEqual([]);
    return [...commands].length;
  } finally {
    await world.close();
  }
}

it(`keeps two tenants of three people apart through ${LEAST_STEPS} random steps`, {
  timeout: LONGEST_MS + 30_000,
}, async () => {
  let done = 0;
  const property = fc.asyncProperty(fc.commands(steps, { maxCommands: STEPS_A_RUN, size: 'max' }), async (commands) => {
    // Enough; this also bounds how long a failure is made smaller.
    if (done < LEAST_STEPS) done += await runAll(commands);
  });
  await fc.assert(property, {
    endOnFailure: true,
    numRuns: MAX_RUNS,
    plugins: [fc.interruptAfterTimeLimit(LONGEST_MS, { failOnInterrupt: true })],
  });
  expect(done).toBeGreaterThanOrEqual(LEAST_STEPS);
});
