import { describe, expect, it } from 'vitest';
import { Gates } from '../../src/limits/gates.ts';
import { Tally } from '../../src/limits/tally.ts';

const settled = (): Promise<void> => new Promise(setImmediate);

/** Work that ends when the test says so. */
function aBench(places: number, longestLine: number) {
  const gates = new Gates({ places, longestLine });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (key: string, name: string, signal?: AbortSignal): Promise<string> =>
    gates.run(
      key,
      () =>
        new Promise((resolve) => {
          begun.push(name);
          ends.set(name, () => resolve(name));
        }),
      signal,
    );
  return { gates, begun, run, end: (name: string) => ends.get(name)?.() };
}

describe('a gate', () => {
  it('lets so many of a key in at a time, the others in the order they came', async () => {
    const { begun, run, end } = aBench(2, 10);
    const all = ['a', 'b', 'c', 'd'].map((name) => run('acme', name));
    await settled();
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await settled();
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c']) end(name);
    await settled();
    end('d');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('refuses at once, with a time to wait, when the line is full; and only those of that key', async () => {
    const { begun, run } = aBench(1, 2);
    for (const name of ['a', 'b', 'c']) void run('acme', name);
    await expect(run('acme', 'd')).rejects.toMatchObject({ code: 'overloaded', data: { retryAfterMs: 1_000 } });
    void run('umbrella', 'u');
    await settled();
    expect(begun).toEqual(['a', 'u']);
  });

  it('gives the place in the line of one who leaves to the next who comes', async () => {
    const { begun, run, end } = aBench(1, 1);
    void run('acme', 'a');
    const leaver = new AbortController();
    const left = run('acme', 'b', leaver.signal);
    await expect(run('acme', 'c')).rejects.toMatchObject({ code: 'overloaded' });
    leaver.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    const next = run('acme', 'd');
    await expect(run('acme', 'gone', AbortSignal.abort(new Error('before')))).rejects.toMatchObject({
      code: 'overloaded',
    });
    end('a');
    await settled();
    expect(begun).toEqual(['a', 'd']);
    end('d');
    await expect(next).resolves.toBe('d');
  });

  it('is left by work that fails, and remembers nobody who is done', async () => {
    const gates = new Gates({ places: 1, longestLine: 1 });
    await expect(gates.run('acme', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(
      gates.run('acme', () => {
        throw new Error('at once');
      }),
    ).rejects.toThrow('at once');
    expect(await gates.run('acme', () => Promise.resolve('yes'))).toBe('yes');
    expect(gates.size).toBe(0);
  });
});

describe('a tally', () => {
  it('counts to its end, each key by itself, and back', () => {
    const tally = new Tally();
    const leave = tally.enter('acme', 2);
    expect(tally.enter('acme', 2)).toBeDefined();
    expect(tally.enter('acme', 2)).toBeUndefined();
    expect(tally.enter('umbrella', 2)).toBeDefined();
    leave?.();
    leave?.();
    expect(tally.of('acme')).toBe(1);
    expect(tally.enter('acme', 2)).toBeDefined();
    expect(tally.enter('acme', 0)).toBeUndefined();
  });
});
