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
  it('is twenty events in a millisecond, and no rest is due up to two hundred ahead of that', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    expect(pace.rest(1)).toBeUndefined();
    expect(pace.rest(200)).toBeUndefined();
    clock.advance(5);
    expect(pace.rest(300)).toBeUndefined();
    const wait = pace.rest(400);
    expect(wait).toBeDefined();
    clock.advance(14);
    expect(await isOver(wait)).toBe(false);
    clock.advance(1);
    expect(await isOver(wait)).toBe(true);
    expect(pace.rest(600)).toBeUndefined();
  });

  it('never rests for a stream that tells ten thousand events a second', () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    for (let events = 0; events < 50_000; events += 100) {
      expect(pace.rest(events)).toBeUndefined();
      clock.advance(10);
    }
  });

  it('rests for as long as what came all at once would have taken, a second at most', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    const wait = pace.rest(2_000);
    clock.advance(99);
    expect(await isOver(wait)).toBe(false);
    clock.advance(1);
    expect(await isOver(wait)).toBe(true);
    const longest = pace.rest(2_000_000);
    clock.advance(1_000);
    expect(await isOver(longest)).toBe(true);
  });

  it('holds nothing up because the clock was set back', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    await isOver(pace.rest(1_000));
    clock.advance(-3_600_000);
    const wait = pace.rest(1_001);
    clock.advance(1_050);
    expect(await isOver(wait)).toBe(true);
  });
});
