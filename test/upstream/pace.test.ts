import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/upstream/pace.ts';
import { FakeClock } from '../support/fake-clock.ts';

async function isOver(wait: Promise<void> | undefined): Promise<boolean> {
  let over = wait === undefined;
  void wait?.then(() => {
    over = true;
  });
  await Promise.resolve();
  return over;
}

describe('the pace of a stream', () => {
  it('is free for two thousand events in a tenth of a second, and rests until it is over beyond that', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    expect(pace.rest(1)).toBeUndefined();
    clock.advance(40);
    expect(pace.rest(2_000)).toBeUndefined();
    const wait = pace.rest(2_002);
    expect(wait).toBeDefined();
    clock.advance(59);
    expect(await isOver(wait)).toBe(false);
    clock.advance(1);
    expect(await isOver(wait)).toBe(true);
    expect(pace.rest(4_000)).toBeUndefined();
  });

  it('never rests for a stream that tells ten thousand events a second', () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    for (let events = 0; events < 50_000; events += 100) {
      expect(pace.rest(events)).toBeUndefined();
      clock.advance(10);
    }
  });

  it('rests also for what came all at once', async () => {
    const clock = new FakeClock();
    const wait = new Pace(clock).rest(30_000);
    expect(await isOver(wait)).toBe(false);
    clock.advance(100);
    expect(await isOver(wait)).toBe(true);
  });
});
