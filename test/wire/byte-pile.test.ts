import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BytePile } from '../../src/wire/byte-pile.ts';

describe('a pile of bytes', () => {
  it('gives back what was added, in its order, whatever the sizes', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 3_000, max: 70_000 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(sizes, (all) => {
        const pile = new BytePile();
        const chunks = all.map((size, nth) => Buffer.alloc(size, nth + 65));
        for (const chunk of chunks) pile.add(chunk);
        expect(pile.take().equals(Buffer.concat(chunks))).toBe(true);
        expect([pile.isEmpty, pile.take().length]).toEqual([true, 0]);
      }),
    );
  });

  it('gives a single chunk as it is, uncopied', () => {
    const pile = new BytePile();
    const chunk = Buffer.from('whole');
    pile.add(chunk);
    expect(pile.take()).toBe(chunk);
  });

  it('takes a million bytes one by one in little more room than they need', () => {
    const pile = new BytePile();
    const byte = Buffer.from('x');
    globalThis.gc?.();
    const before = process.memoryUsage();
    for (let n = 0; n < 1_000_000; n++) pile.add(byte);
    const after = process.memoryUsage();
    const used = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    // An array of as many slices took more than 100 MB.
    expect(used).toBeLessThan(16_000_000);
    expect(pile.take()).toHaveLength(1_000_000);
  });
});
