import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexOfText } from '../../src/wire/find-text.ts';

const MIB = 1024 * 1024;

describe('indexOfText', () => {
  it('finds what Buffer.indexOf finds, from any place', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', 'i', 'd'), maxLength: 40 }), fc.nat(40), (text, from) => {
        expect(indexOfText(Buffer.from(text), '"id"', from)).toBe(Buffer.from(text).indexOf('"id"', from));
      }),
    );
  });

  it.each(['"', 'i', 'x', '\\'])('finds it in megabytes of %j, at both ends and not at all', (letter) => {
    const bytes = Buffer.alloc(2 * MIB, letter);
    expect(indexOfText(bytes, '"id"')).toBe(-1);
    bytes.write('"id"', bytes.length - 4);
    expect(indexOfText(bytes, '"id"')).toBe(bytes.length - 4);
    bytes.write('"id"', 0);
    expect(indexOfText(bytes, '"id"')).toBe(0);
    expect(indexOfText(bytes, '"id"', 1)).toBe(bytes.length - 4);
  });
});
