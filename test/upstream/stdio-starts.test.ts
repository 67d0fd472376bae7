// How many commands run, how many start at a time, and when one that failed is started again.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import { type StartPlace, Starts } from '../../src/upstream/stdio-starts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aLog, aServer, client, never, none, stdioTransport } from '../support/stdio/a-stdio-server.ts';

const acme = 'acme' as TenantId;
const umbrella = 'umbrella' as TenantId;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Bench {
  readonly clock = new FakeClock();
  readonly starts: Starts;
  readonly places: StartPlace[] = [];
  readonly errors: unknown[] = [];

  constructor(max: number) {
    this.starts = new Starts(this.clock, () => max);
  }

  admit(key: string, tenant = acme, signal = never()): void {
    this.starts.admit(tenant, key, signal).then(
      (place) => this.places.push(place),
      (error: unknown) => this.errors.push(error),
    );
  }
}

describe('commands of one tenant', () => {
  it('B059: are so many at most, counted until nothing of them is left; another tenant has its own', async () => {
    const bench = new Bench(3);
    for (const key of ['a', 'b', 'c', 'd']) bench.admit(key);
    bench.admit('e', umbrella);
    await settled();
    expect(bench.places).toHaveLength(4);
    bench.places[0]?.started();
    await settled();
    expect(bench.places, 'a command that runs takes its place').toHaveLength(4);
    bench.places[0]?.leave();
    bench.places[0]?.leave();
    await settled();
    expect(bench.places).toHaveLength(5);
  });

  it('B059: beyond that wait for one that is ending, and are told to come back later', async () => {
    const bench = new Bench(1);
    bench.admit('a');
    await settled();
    bench.admit('b');
    bench.clock.advance(3_900);
    expect(bench.errors).toEqual([]);
    bench.clock.advance(200);
    await settled();
    expect(bench.errors).toMatchObject([{ code: 'overloaded', data: { retryAfterMs: 1_000 } }]);
    bench.places[0]?.leave();
    bench.admit('c');
    await settled();
    expect(bench.places, 'who gave up takes no place').toHaveLength(2);
  });

  it('start eight at a time, in the order they came, and whoever leaves the line lets the next go first', async () => {
    const bench = new Bench(100);
    const leaver = new AbortController();
    for (let i = 0; i < 8; i += 1) bench.admit(`k${i}`);
    bench.admit('leaver', acme, leaver.signal);
    bench.admit('next');
    await settled();
    expect(bench.places).toHaveLength(8);
    leaver.abort(new Error('left'));
    bench.places[3]?.started();
    bench.places[3]?.started();
    await settled();
    expect(bench.errors).toMatchObject([{ message: 'left' }]);
    expect(bench.places).toHaveLength(9);
  });
});

describe('a command that fails at its start', () => {
  it('is started again at once the first time, then after pauses that double up to half a minute', async () => {
    const bench = new Bench(100);
    const pauses: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      bench.admit('bad');
      await settled();
      bench.places.at(-1)?.failed('It ended.');
      bench.places.at(-1)?.started();
      bench.places.at(-1)?.leave();
      let waited = 0;
      for (; waited <= 40_000; waited += 500) {
        const before = bench.places.length;
        bench.admit('bad');
        await settled();
        if (bench.places.length > before) break;
        bench.clock.advance(500);
      }
      bench.places.at(-1)?.started();
      bench.places.at(-1)?.leave();
      pauses.push(waited);
    }
    expect(pauses).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(bench.errors[0]).toMatchObject({
      name: 'NotRunError',
      message: 'It ended. It is started again in 1 s at the earliest.',
      mayRetryNow: false,
      data: { retryAfterMs: 1_000 },
    });
  });

  it('holds up no other, and is forgiven when it works or after five minutes', async () => {
    const bench = new Bench(100);
    bench.admit('bad');
    await settled();
    const [bad] = bench.places;
    for (let i = 0; i < 3; i += 1) bad?.failed('It ended.');
    bench.admit('good');
    bench.admit('bad');
    await settled();
    expect(bench.places).toHaveLength(2);
    expect(bench.errors).toHaveLength(1);
    bench.clock.advance(5 * 60_000 + 1);
    bad?.failed('It ended.');
    bench.admit('bad');
    await settled();
    expect(bench.places).toHaveLength(3);
    bad?.failed('It ended.');
    bad?.worked();
    bench.admit('bad');
    await settled();
    expect(bench.places).toHaveLength(4);
  });

  it('is not started in a loop by however many calls', async () => {
    const log = aLog();
    const parentEnv = { PATH: process.env['PATH'] };
    const dial = createStdioDial({ clock: systemClock, logger: log.logger, client, parentEnv });
    const crash = { ...stdioTransport('server.mjs'), args: ['--eval', 'console.error("began"); process.exit(1)'] };
    for (let i = 0; i < 30; i += 1) await dial(aServer(crash), none, never()).catch(() => undefined);
    expect(log.lines.filter(({ line }) => line === 'began').length).toBe(2);
  });
});
