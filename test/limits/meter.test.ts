import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Meter, type Rate } from '../../src/limits/meter.ts';

const NOW = 1_700_000_000_000;
const rate: Rate = { perSecond: 10, burst: 5 };

function taken(meter: Meter, key: string, times: number, now: number, of = rate): number {
  return Array.from({ length: times }, () => meter.take(key, of, now)).filter((waitMs) => waitMs === 0).length;
}

describe('a meter', () => {
  it('lets so many pass at once, then as many as the rate says', () => {
    const meter = new Meter(10);
    expect(taken(meter, 'a', 20, NOW)).toBe(5);
    expect(taken(meter, 'a', 20, NOW + 99)).toBe(0);
    expect(taken(meter, 'a', 20, NOW + 100)).toBe(1);
    expect(taken(meter, 'a', 20, NOW + 1_100)).toBe(5);
  });

  it('says how long to wait, and that is long enough', () => {
    const meter = new Meter(10);
    taken(meter, 'a', 5, NOW);
    const waitMs = meter.take('a', rate, NOW + 30);
    expect(waitMs).toBeCloseTo(70, 1);
    expect(meter.take('a', rate, NOW + 30 + Math.ceil(waitMs))).toBe(0);
  });

  it('counts each key by itself', () => {
    const meter = new Meter(10);
    taken(meter, 'a', 100, NOW);
    expect(taken(meter, 'b', 20, NOW)).toBe(5);
  });

  it('does not count what was refused, nor what was given back', () => {
    const meter = new Meter(10);
    taken(meter, 'a', 1_000, NOW);
    expect(taken(meter, 'a', 20, NOW + 200)).toBe(2);
    meter.giveBack('a', rate);
    expect(taken(meter, 'a', 20, NOW + 200)).toBe(1);
    meter.giveBack('nobody', rate);
    expect(taken(meter, 'nobody', 20, NOW)).toBe(5);
  });

  it('shuts nobody out for longer than it takes to fill up, though the clock was set back or the rate was changed', () => {
    const meter = new Meter(10);
    taken(meter, 'a', 5, NOW);
    expect(meter.take('a', rate, NOW - 3_600_000)).toBeLessThanOrEqual(100);
    expect(taken(meter, 'a', 20, NOW - 3_600_000 + 500)).toBe(5);
    const slow: Rate = { perSecond: 1, burst: 60 };
    taken(meter, 'b', 60, NOW, slow);
    expect(meter.take('b', rate, NOW)).toBeLessThanOrEqual(100);
  });

  it('never lets more pass in any time than its rate and burst allow, whatever comes when', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50_000 }),
        fc.integer({ min: 1, max: 100 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 300 }),
        (perSecond, burst, pauses) => {
          const meter = new Meter(4);
          let now = NOW;
          let passed = 0;
          for (const pause of pauses) {
            now += pause;
            if (meter.take('a', { perSecond, burst }, now) === 0) passed++;
            // A hundredth more for fractions of milliseconds at the size of the time itself.
            expect(passed).toBeLessThanOrEqual(burst + ((now - NOW) * perSecond * 1.01) / 1_000 + 0.01);
          }
        },
      ),
    );
  });

  it('keeps no more keys than it may, of a million that come', () => {
    const meter = new Meter(1_000);
    for (let n = 0; n < 1_000_000; n++) meter.take(`10.${n}`, rate, NOW);
    expect(meter.size).toBe(1_000);
    // Who goes on asking is not forgotten for it.
    taken(meter, 'busy', 5, NOW);
    for (let n = 0; n < 5_000; n++) {
      meter.take(`11.${n}`, rate, NOW);
      expect(meter.take('busy', rate, NOW)).toBeGreaterThan(0);
    }
  });
});
