import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutInString, eachElement, eachMember, smallValue, withoutBlanks } from '../../src/wire/json-walk.ts';
import { between, jsonObjects, jsonValues } from './json-text.ts';

const blank = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 });
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('a walk over JSON', () => {
  it('finds the members of an object as JSON.parse does, the last of a name', () => {
    fc.assert(
      fc.property(jsonObjects, ({ text }) => {
        const bytes = Buffer.from(text);
        const found: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
        expect(
          eachMember(bytes, text.indexOf('{'), (key, keyEnd, start, end) => {
            found[JSON.parse(bytes.toString('utf8', key, keyEnd)) as string] = JSON.parse(
              bytes.toString('utf8', start, end),
            );
          }),
        ).toBe(true);
        expect({ ...found }).toEqual({ ...(JSON.parse(text) as object) });
      }),
      { numRuns: 500 },
    );
  });

  it('finds the elements of a list as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(jsonValues, { maxLength: 6 }), between, (values, gaps) => {
        const text = `[${values.map((value) => `${gaps[0] ?? ''}${value}${gaps[1] ?? ''}`).join(',')}]`;
        const bytes = Buffer.from(text);
        const found: unknown[] = [];
        expect(
          eachElement(bytes, 0, (start, end) => {
            found.push(JSON.parse(bytes.toString('utf8', start, end)));
            return undefined;
          }),
        ).toBe(true);
        expect(found).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it.each(['', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":[}', '{1:2}', '{"a" 1}', '[1]', '7'])(
    'takes %j for no object',
    (text) => {
      expect(eachMember(Buffer.from(text), 0, () => undefined)).toBe(false);
    },
  );

  it.each(['', '[', '[1', '[1,', '["a]', '{}', '[1 2]'])('takes %j for no list', (text) => {
    expect(eachElement(Buffer.from(text), 0, () => undefined)).toBe(false);
  });

  it('parses a value up to its limit and no further', () => {
    const bytes = Buffer.from('{"a":"12345678"}');
    expect(smallValue(bytes, 5, 10)).toBe('12345678');
    expect(smallValue(bytes, 5, 9)).toBeUndefined();
    expect(smallValue(Buffer.from('nonsense'), 0, 50)).toBeUndefined();
  });

  it('writes JSON without the blanks between, and says when that is more than the limit', () => {
    fc.assert(
      fc.property(jsonValues, blank, (value, gap) => {
        const spaced = `${gap}[${gap}${value}${gap},${gap}" a  b "${gap}]${gap}`;
        const bytes = Buffer.from(spaced);
        const compact = withoutBlanks(bytes, 0, bytes.length, bytes.length);
        expect(JSON.parse(compact?.toString() ?? '')).toEqual(JSON.parse(spaced));
        const length = compact?.length ?? 0;
        expect(withoutBlanks(bytes, 0, bytes.length, length)?.length).toBe(length);
        expect(withoutBlanks(bytes, 0, bytes.length, length - 1)).toBeUndefined();
      }),
    );
  });

  it('cuts a text where what remains is a text, however it is written', () => {
    const unit = fc.constantFrom(
      'a',
      'é',
      '漢',
      '😀',
      '\\n',
      '\\"',
      '\\\\',
      '\\u00e9',
      '\\ud83d\\ude00',
      '\\uD83D\\uDE00',
      'u',
      'd83d',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 30 }), fc.nat(80), (units, room) => {
        const bytes = Buffer.from(`"${units.join('')}"`);
        const end = cutInString(bytes, 1, Math.min(room, bytes.length - 2));
        expect(end - 1).toBeLessThanOrEqual(room);
        const kept = `"${bytes.toString('utf8', 1, end)}"`;
        expect(isJson(kept), kept).toBe(true);
        const text = JSON.parse(kept) as string;
        expect(text, 'no half of a character').not.toMatch(/\p{Cs}/u);
        expect((JSON.parse(bytes.toString()) as string).startsWith(text)).toBe(true);
        // No more is lost than one character may need.
        if (bytes.length - 2 > room) expect(end - 1).toBeGreaterThan(room - 12);
      }),
      { numRuns: 2_000 },
    );
  });
});
