import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfNested, endOfString, findMember } from '../../src/wire/json-bytes.ts';
import { jsonObjects, jsonValues, objectText } from './json-text.ts';

describe('findMember', () => {
  it('finds exactly the members that JSON.parse finds, and where they begin', () => {
    fc.assert(
      fc.property(jsonObjects, fc.constantFrom('id', '_meta', 'content', '', 'a"b', 'größe'), ({ text }, key) => {
        const bytes = Buffer.from(`  ${text} , "_meta": 5`);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const at = findMember(bytes, 2 + text.indexOf('{'), key);
        if (!Object.hasOwn(parsed, key)) {
          expect(at).toBeUndefined();
          return;
        }
        const rest = bytes.toString('utf8', at);
        // The value begins there: some prefix of the rest is its text.
        const ends = [...rest.matchAll(/[,}\]\s]|$/g)].map(({ index }) => index);
        const found = ends.some((end) => {
          try {
            return JSON.stringify(JSON.parse(rest.slice(0, end))) === JSON.stringify(parsed[key]);
          } catch {
            return false;
          }
        });
        expect(found).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['in a nested object', '{"a":{"_meta":1}}'],
    ['in a list', '{"a":[{"_meta":1}]}'],
    ['in a text', '{"a":"\\"_meta\\":1"}'],
    ['as a value', '{"a":"_meta"}'],
    ['as a value before a colon in a text', '{"a":"_meta",":":1}'],
  ])('does not take a name %s for a member', (_, text) => {
    expect(findMember(Buffer.from(text), 0, '_meta')).toBeUndefined();
  });

  it('gives the last of several and sees through escapes, as JSON.parse does', () => {
    const twice = '{"_meta":{"a":1},"_meta":{"b":2}}';
    expect(findMember(Buffer.from(twice), 0, '_meta')).toBe(twice.lastIndexOf('{'));
    const disguised = '{"_meta":{"a":1},"\\u005fmeta":{"b":2}}';
    expect(findMember(Buffer.from(disguised), 0, '_meta')).toBe(disguised.lastIndexOf('{'));
  });

  it('finds nothing in what is no object, or ends too early', () => {
    for (const text of ['[]', '"x"', '', '{', '{"_meta', '{"_meta"', '{"a":', '{"a":"', '{"a":[']) {
      expect(findMember(Buffer.from(text), 0, '_meta')).toBeUndefined();
    }
  });
});

describe('the end of a value', () => {
  it('is behind the closing quote, however long the string and whatever is escaped in it', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300, size: 'max' }),
      fc.string({ unit: fc.constantFrom('\\', '"', 'a'), maxLength: 300, size: 'max' }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const json = Buffer.from(JSON.stringify(text));
        expect(endOfString(Buffer.concat([json, Buffer.from(',"more"')]), 0)).toBe(json.length);
        expect(endOfString(json.subarray(0, -1), 0)).toBe(-1);
        expect(endOfString(json, 0, json.length)).toBe(json.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not looked for far behind a limit', () => {
    const json = Buffer.from(JSON.stringify('"'.repeat(10_000)));
    expect(endOfString(json, 0)).toBe(json.length);
    expect(endOfString(json, 0, 5_000)).toBe(-1);
  });

  it('is behind the closing bracket, and a cut value has none', () => {
    fc.assert(
      fc.property(jsonValues, fc.nat(), (value, cut) => {
        const bytes = Buffer.from(objectText([['a', value]]));
        expect(endOfNested(Buffer.concat([bytes, Buffer.from('}]')]), 0)).toBe(bytes.length);
        expect(endOfNested(bytes.subarray(0, cut % bytes.length), 0)).toBe(-1);
      }),
    );
  });
});
