// Samples find what a search from end to end finds, wherever it stands and however the bytes lie in memory.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Needles } from '../../src/wire/needles.ts';

const bytes = (options: { minLength?: number; maxLength?: number }) =>
  fc.uint8Array(options).map((array) => Buffer.from(array));

/** In front of what is searched: short messages are read in another way than long ones. */
const FRONTS = [0, 5_000];

describe('needles', () => {
  it.each(FRONTS)('are found at every place, at every alignment, behind %s others', (front) => {
    for (const length of [7, 8, 9, 13, 40, 64, 65, 200]) {
      const needle = Buffer.from(Array.from({ length }, (_, at) => 33 + ((at * 7) % 90)));
      const needles = new Needles([needle]);
      for (let before = front; before < front + 150; before++) {
        for (const behind of [0, 1, 3, 70]) {
          const whole = Buffer.alloc(before + length + behind + 8, 'x');
          const text = whole.subarray(before % 5, (before % 5) + before + length + behind);
          needle.copy(text, before);
          expect(needles.areIn(text), `${length} at ${before}`).toBe(true);
          text[before + length - 1] = 0;
          expect(needles.areIn(text), `all but one of ${length} at ${before}`).toBe(false);
        }
      }
    }
  });

  it.each(FRONTS)('are found if and only if a plain search finds one, behind %s others', (front) => {
    fc.assert(
      fc.property(
        fc.array(bytes({ minLength: 8, maxLength: 80 }), { maxLength: 12 }),
        bytes({ maxLength: 400 }),
        fc.nat(),
        fc.nat(),
        fc.boolean(),
        (sought, hay, which, where, planted) => {
          const needle = sought[which % Math.max(1, sought.length)] ?? Buffer.alloc(0);
          const at = where % (hay.length + 1);
          const first = Buffer.alloc(front, 'x');
          const text = Buffer.concat([first, ...(planted ? [hay.subarray(0, at), needle, hay.subarray(at)] : [hay])]);
          const expected = sought.some((one) => text.includes(one));
          const needles = new Needles(sought);
          expect(needles.areIn(text)).toBe(expected);
          expect(needles.areInText(text.toString('latin1'))).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('are not there in a few bytes at the very end of their memory', () => {
    const needles = new Needles([Buffer.from('abcdefgh')]);
    for (let size = 1; size < 40; size++)
      for (let length = 0; length <= Math.min(size, 9); length++) {
        const bytes = Buffer.from(new ArrayBuffer(size), size - length, length);
        expect(needles.areIn(bytes), `${length} of ${size}`).toBe(false);
      }
  });

  it('are not there when there are none, or less than the text has', () => {
    expect(new Needles([]).areIn(Buffer.from('whatever'))).toBe(false);
    for (const text of ['', 'a', 'abc', 'abcdefg'])
      expect(new Needles([Buffer.from('abcdefgh')]).areIn(Buffer.from(text))).toBe(false);
  });
});
