import { describe, expect, it } from 'vitest';
import { SingleFlight, waitFor } from '../../src/shared/single-flight.ts';

interface Work {
  readonly run: () => Promise<string>;
  readonly starts: () => number;
  finish(value: string): void;
  fail(error: Error): void;
}

function aWork(): Work {
  let starts = 0;
  let settle: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  return {
    run: () =>
      new Promise((resolve, reject) => {
        starts++;
        settle = { resolve, reject };
      }),
    starts: () => starts,
    finish: (value) => settle?.resolve(value),
    fail: (error) => settle?.reject(error),
  };
}

describe('SingleFlight', () => {
  it('runs the work once however many ask, and gives all of them its result', async () => {
    const flight = new SingleFlight<string>();
    const work = aWork();
    const all = Promise.all(Array.from({ length: 20 }, () => flight.run('k', work.run)));
    expect(flight.has('k')).toBe(true);
    work.finish('done');
    expect(new Set(await all)).toEqual(new Set(['done']));
    expect(work.starts()).toBe(1);
    expect(flight.has('k')).toBe(false);
  });

  it('shares the work, not the fate: who leaves only leaves', async () => {
    const flight = new SingleFlight<string>();
    const work = aWork();
    const leaver = new AbortController();
    const [first, second] = [
      flight.run('k', work.run, leaver.signal),
      flight.run('k', work.run, new AbortController().signal),
    ];
    leaver.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    work.finish('done');
    expect(await second).toBe('done');
  });

  it('goes on when everyone has left, and its failure is no unhandled rejection', async () => {
    const flight = new SingleFlight<string>();
    const work = aWork();
    const leaver = new AbortController();
    const only = flight.run('k', work.run, leaver.signal);
    leaver.abort(new Error('left'));
    await expect(only).rejects.toThrow('left');
    expect(flight.has('k')).toBe(true);
    work.fail(new Error('nobody hears this'));
    await new Promise(setImmediate);
    expect(flight.has('k')).toBe(false);
    const begun = flight.run('k', work.run, AbortSignal.abort(new Error('had left before')));
    await expect(begun).rejects.toThrow('had left before');
    work.fail(new Error('nor this'));
    await new Promise(setImmediate);
  });

  it('does not keep a failure: the next to ask starts anew', async () => {
    const flight = new SingleFlight<string>();
    const work = aWork();
    const first = flight.run('k', work.run);
    work.fail(new Error('no'));
    await expect(first).rejects.toThrow('no');
    const second = flight.run('k', work.run);
    work.finish('yes');
    expect(await second).toBe('yes');
    expect(work.starts()).toBe(2);
  });

  it('keeps keys apart', async () => {
    const flight = new SingleFlight<string>();
    const values = await Promise.all(['a', 'b'].map((key) => flight.run(key, () => Promise.resolve(key))));
    expect(values).toEqual(['a', 'b']);
  });
});

describe('waitFor', () => {
  it('does not begin to wait for one who has left already', async () => {
    await expect(waitFor(new Promise(() => undefined), AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
  });

  it('B272: leaves no listener on a signal that lives on', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const counted: AbortSignal = Object.create(signal, {
      aborted: { get: () => signal.aborted },
      addEventListener: {
        value: (...args: Parameters<AbortSignal['addEventListener']>) => {
          listeners++;
          signal.addEventListener(...args);
        },
      },
      removeEventListener: {
        value: (...args: Parameters<AbortSignal['removeEventListener']>) => {
          listeners--;
          signal.removeEventListener(...args);
        },
      },
    }) as AbortSignal;
    await Promise.allSettled([waitFor(Promise.resolve(1), counted), waitFor(Promise.reject(new Error('no')), counted)]);
    await new Promise(setImmediate);
    expect(listeners).toBe(0);
  });
});
