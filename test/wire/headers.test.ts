import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue } from '../../src/wire/headers.ts';

describe('a header value', () => {
  it('reads back as what was written, and is plain ASCII on the way', () => {
    const values = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom(
        '',
        ' ',
        ' a',
        'a ',
        '\t',
        'a\tb',
        '=?base64?',
        '=?base64?YQ==?=',
        'größe',
        'a\nb',
        'a\u0000',
        '=?BASE64?YQ==?=',
      ),
    );
    fc.assert(
      fc.property(values, (value) => {
        const encoded = encodeHeaderValue(value);
        expect(encoded).toMatch(/^[\t\u0020-\u007e]+$/);
        expect(encoded.trim()).toBe(encoded);
        expect(decodeHeaderValue(encoded)).toBe(value);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is left as it is where it can be', () => {
    for (const value of ['search', 'file:///a b', 'x-y_z.1', 'a\tb']) expect(encodeHeaderValue(value)).toBe(value);
    expect(encodeHeaderValue('größe')).toBe('=?base64?Z3LDtsOfZQ==?=');
  });

  it.each(['=?base64?', '=?base64?a b?=', '=?base64?YQ==', '=?base64?ü?=', '=?base64?Y===?='])(
    'is not understood when it says base64 and is none: %s',
    (value) => {
      expect(decodeHeaderValue(value)).toBeUndefined();
    },
  );
});
