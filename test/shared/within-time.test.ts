import { expect, it } from 'vitest';
import { withinTime } from '../../src/shared/within-time.ts';
import { FakeClock } from '../support/fake-clock.ts';

const tooLate = (): Error => new Error('too late');

it('aborts the work with the reason once the time is up, and ends with what the work then says', async () => {
  const clock = new FakeClock();
  let seen: AbortSignal | undefined;
  const ending = withinTime(clock, 100, tooLate, (signal) => {
    seen = signal;
    return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  });
  const ended = expect(ending).rejects.toThrow('too late');
  clock.advance(99);
  expect(seen?.aborted).toBe(false);
  clock.advance(1);
  await ended;
});

it('leaves no timer behind, whether the work ends well or not', async () => {
  const clock = new FakeClock();
  expect(await withinTime(clock, 100, tooLate, () => Promise.resolve('done'))).toBe('done');
  await expect(withinTime(clock, 100, tooLate, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(clock.pending).toBe(0);
});
