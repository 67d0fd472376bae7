import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSecretValue } from '../../src/credential/secret-value.ts';
import { ProxyError } from '../../src/shared/errors.ts';

const read = (text: string, scheme = 'Bearer', header?: string): string =>
  parseSecretValue(text, 'header', scheme, header).reveal();

function refusalOf(text: string, placement: 'header' | 'env' = 'header', scheme = 'Bearer'): string {
  try {
    parseSecretValue(text, placement, scheme);
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  throw new Error('it was taken');
}

describe('a pasted value', () => {
  it.each([
    ['abc', 'abc'],
    [' abc\n', 'abc'],
    ['Bearer abc', 'abc'],
    ['bearer   abc', 'abc'],
    ['Authorization: Bearer abc', 'abc'],
    ['authorization:Bearer abc', 'abc'],
    ['Bearer Bearer abc', 'abc'],
    ['BearerToken', 'BearerToken'],
  ])('B233: %j is sent as one scheme and %j', (pasted, sent) => {
    expect(read(pasted)).toBe(sent);
  });

  it('keeps the scheme of a whole header line when the server names none', () => {
    expect(read('Authorization: Bearer abc', '')).toBe('Bearer abc');
    expect(read('X-Api-Key: abc', '', 'x-api-key')).toBe('abc');
    expect(read('Token abc', '')).toBe('Token abc');
  });

  it.each([
    ['abc\r\nX-Evil: 1', 'control characters'],
    ['abc\u0000', 'control characters'],
    ['ab\u200bc', 'invisible'],
    ['abc\u200b', 'invisible'],
    ['sch\u00fcssel-abc', 'cannot be sent in a header'],
    ['', 'is empty'],
    [' \n\t', 'is empty'],
    ['Bearer', 'is empty'],
    ['Authorization:', 'is empty'],
    ['x'.repeat(9 * 1024), 'too long'],
    ['x'.repeat(10_000_000), 'too long'],
    ['Basic abc', 'has a blank'],
  ])('B233, B245: refuses %j', (pasted, reason) => {
    expect(refusalOf(pasted)).toContain(reason);
  });

  it('lets a command have any readable text, but no NUL and no line breaks', () => {
    expect(parseSecretValue(' p\u00e4ss wort ', 'env', '').reveal()).toBe('p\u00e4ss wort');
    expect(refusalOf('a\u0000b', 'env', '')).toContain('control characters');
    expect(refusalOf('a\nb', 'env', '')).toContain('control characters');
    expect(refusalOf('\u00e4'.repeat(5000), 'env', '')).toContain('too long');
  });

  it('B245: never repeats the value, and gives only what a header carries unchanged', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', minLength: 6, maxLength: 60 }),
          fc.string({ unit: 'grapheme-ascii', minLength: 6 }),
        ),
        fc.constantFrom('', 'Bearer', 'Token'),
        (pasted, scheme) => {
          try {
            const value = parseSecretValue(pasted, 'header', scheme).reveal();
            expect(new Headers({ 'x-key': value }).get('x-key')).toBe(value);
            expect(parseSecretValue(value, 'header', scheme).reveal()).toBe(value);
          } catch (error) {
            if (!(error instanceof ProxyError)) throw error;
            expect(error.message).not.toContain(pasted);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
