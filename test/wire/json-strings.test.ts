// Only the texts of a document change; everything else stays byte for byte.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapStrings } from '../../src/wire/json-strings.ts';

const upper = (text: string): string => text.toUpperCase();
const same = (text: string): string => text;

describe('the strings of a document', () => {
  it.each([
    ['{"a":"b"}', '{"A":"B"}'],
    ['{"a" : 1.0e2,\n"b":12345678901234567890, "b":"x"}', '{"A" : 1.0e2,\n"B":12345678901234567890, "B":"X"}'],
    ['["\\u0061\\/b"]', '["A/B"]'],
    ['["ends with a backslash\\\\","q\\"q"]', '["ENDS WITH A BACKSLASH\\\\","Q\\"Q"]'],
    ['true', 'true'],
    ['""', '""'],
  ])('%s', (json, expected) => expect(mapStrings(json, upper)).toBe(expected));

  it('stay as they are written when they do not change', () => {
    const odd = '{"\\u0061":"\\/\\u00e9", "n":1E+2}';
    expect(mapStrings(odd, same)).toBe(odd);
  });

  it('change in any document as they change in its value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const changed = mapStrings(JSON.stringify(value), (text) => `<${text}>`);
        expect(JSON.parse(mapStrings(changed, (text) => text.slice(1, -1)))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each(['{"a":"b', '{"a":"\\x"}', '["\\"]'])('are refused where they cannot be read: %s', (json) => {
    expect(() => mapStrings(json, same)).toThrow(SyntaxError);
  });
});
