import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { startDeadline } from '../../src/shared/deadline.ts';
import { Gate } from '../../src/shared/gate.ts';
import { Lifecycle } from '../../src/shared/lifecycle.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('a deadline', () => {
  const start = (clock: FakeClock, parent = new AbortController().signal) =>
    startDeadline(clock, parent, 60, 200, () => new Error('too late'));

  it('fires after its time, not before, with the reason it was given', () => {
    const clock = new FakeClock();
    const { signal } = start(clock);
    clock.advance(59);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toEqual(new Error('too late'));
  });

  it('B024: starts anew with each sign of progress, but never beyond the ceiling', () => {
    const clock = new FakeClock();
    const { signal, restart } = start(clock);
    for (let elapsed = 50; elapsed < 200; elapsed += 50) {
      clock.advance(50);
      expect(signal.aborted).toBe(false);
      restart();
    }
    clock.advance(49);
    expect(signal.aborted).toBe(false);
    restart();
    clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it("fires with its parent and for its parent's reason", () => {
    const parent = new AbortController();
    const before = start(new FakeClock(), parent.signal);
    parent.abort(new Error('the agent left'));
    expect(before.signal.reason).toEqual(new Error('the agent left'));
    expect(start(new FakeClock(), parent.signal).signal.reason).toEqual(new Error('the agent left'));
  });

  it('leaves no timer behind, whatever happened', () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const deadline = start(clock, parent.signal);
    deadline.restart();
    deadline.end();
    expect(clock.pending).toBe(0);
    parent.abort(new Error('later'));
    expect(deadline.signal.aborted).toBe(false);
    const late = start(clock, AbortSignal.abort(new Error('gone')));
    late.end();
    late.restart();
    expect(clock.pending).toBe(0);
  });
});

describe('sleeping', () => {
  it('ends after its time, or at once with the signal', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const [whole, cut] = [clock.sleep(100), clock.sleep(100, controller.signal)];
    controller.abort(new Error('woken'));
    await expect(cut).rejects.toThrow('woken');
    clock.advance(100);
    await expect(whole).resolves.toBeUndefined();
    expect(clock.pending).toBe(0);
    await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  });
});

describe('a gate', () => {
  it('lets in so many at a time, the rest in the order they came', async () => {
    const gate = new Gate(2);
    const inside: number[] = [];
    const leave: (() => void)[] = [];
    const all = [0, 1, 2, 3, 4].map((n) =>
      gate.run(() => (inside.push(n), new Promise<void>((resolve) => leave.push(resolve)))),
    );
    await new Promise(setImmediate);
    expect(inside).toEqual([0, 1]);
    leave[1]?.();
    await new Promise(setImmediate);
    expect(inside).toEqual([0, 1, 2]);
    for (let n = 0; n < 5; n++) {
      leave[n]?.();
      await new Promise(setImmediate);
    }
    await Promise.all(all);
    expect(inside).toEqual([0, 1, 2, 3, 4]);
  });

  it('never loses a place, also when work fails', async () => {
    const gate = new Gate(1);
    const outcomes = await Promise.allSettled([
      gate.run(() => Promise.reject(new Error('a'))),
      gate.run(() => {
        throw new Error('b');
      }),
      gate.run(() => Promise.resolve('c')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(await gate.run(() => Promise.resolve('still open'))).toBe('still open');
  });
});

describe('a life', () => {
  it('closes what was opened last first, once, and one failing close does not skip the rest', async () => {
    const life = new Lifecycle();
    const closed: string[] = [];
    life.onClose('database', () => void closed.push('database'));
    life.onClose('pool', () => Promise.reject(new Error('stuck')));
    life.onClose('server', async () => {
      await new Promise(setImmediate);
      closed.push('server');
    });
    const closing = life.close();
    await expect(closing).rejects.toThrow(AggregateError);
    await expect(life.close()).rejects.toMatchObject({ errors: [new Error('closing pool failed')] });
    expect(closed).toEqual(['server', 'database']);
  });
});
