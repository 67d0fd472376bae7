import { describe, expect, it, vi } from 'vitest';
import { startDeadline } from '../../src/shared/deadline.ts';
import { LightAbort } from '../../src/shared/light-abort.ts';
import { waitFor } from '../../src/shared/single-flight.ts';
import { FakeClock } from '../support/fake-clock.ts';

const REASON = new Error('left');

describe.each([
  ['a real controller', () => new AbortController()],
  ['a light one', () => new LightAbort()],
])('%s', (_, make) => {
  it('tells its listeners once, and not those who left or came too late', () => {
    const controller = make();
    const [stays, leaves, late] = [vi.fn(), vi.fn(), vi.fn()];
    controller.signal.addEventListener('abort', stays, { once: true });
    controller.signal.addEventListener('abort', leaves, { once: true });
    controller.signal.removeEventListener('abort', leaves);
    expect(controller.signal.aborted).toBe(false);
    expect(() => controller.signal.throwIfAborted()).not.toThrow();
    controller.abort(REASON);
    controller.abort(new Error('again'));
    controller.signal.addEventListener('abort', late, { once: true });
    expect([stays.mock.calls.length, leaves.mock.calls.length, late.mock.calls.length]).toEqual([1, 0, 0]);
    expect([controller.signal.aborted, controller.signal.reason]).toEqual([true, REASON]);
    expect(() => controller.signal.throwIfAborted()).toThrow(REASON);
  });

  it('ends waits and deadlines that were given its signal', async () => {
    const controller = make();
    const clock = new FakeClock();
    const waiting = waitFor(new Promise(() => undefined), controller.signal);
    const deadline = startDeadline(clock, controller.signal, 1_000, 1_000, () => new Error('late'));
    const sleeping = clock.sleep(1_000, controller.signal);
    controller.abort(REASON);
    await expect(waiting).rejects.toBe(REASON);
    await expect(sleeping).rejects.toBe(REASON);
    expect(deadline.signal.reason).toBe(REASON);
    deadline.end();
  });
});
