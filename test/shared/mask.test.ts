// Whatever way a secret is written down in, none of it is left.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMask } from '../../src/shared/mask.ts';
import { Secret } from '../../src/shared/secret.ts';
import { formsOf, jsonForms } from '../../src/shared/secret-forms.ts';

const KEY = 'sk+live/9f=Q~ä"\\<&>\'z';
const mask = createMask([new Secret(KEY)]);

const WRITTEN: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'percent-encoded': (text) => encodeURIComponent(text),
  'percent-encoded in small letters': (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  'as an address': (text) => encodeURI(text),
  'as a form': (text) => new URLSearchParams({ q: text }).toString().slice(2),
  'in JSON': (text) => JSON.stringify(text).slice(1, -1),
  'in JSON with slashes escaped': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'in hex': (text) => Buffer.from(text).toString('hex'),
  'in large hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'in Base64': (text) => Buffer.from(text).toString('base64'),
  'in Base64 behind one byte': (text) => Buffer.from(`:${text}`).toString('base64'),
  'in Base64 behind two': (text) => Buffer.from(`u:${text}`).toString('base64'),
  'in the middle of Base64': (text) => Buffer.from(`user:${text}; and more`).toString('base64'),
  'in base64url': (text) => Buffer.from(`{"k":"${text}"}`).toString('base64url'),
  'in Base64 in an address': (text) => encodeURIComponent(Buffer.from(text).toString('base64')),
};

describe('a secret', () => {
  it.each(Object.entries(WRITTEN))('is masked %s', (_, write) => {
    const masked = mask(`before ${write(KEY)} behind`);
    expect(masked).toMatch(/^before .*\[secret\].* behind$/);
    for (const { plain, base64 } of [formsOf(KEY)])
      for (const form of [...plain, ...base64]) expect(masked).not.toContain(form);
  });

  it('is masked wherever it stands in a text that was encoded as a whole, with the bits at its ends', () => {
    const secret = fc
      .string({ unit: 'grapheme', minLength: 8, maxLength: 60 })
      .filter((s) => Buffer.byteLength(s) >= 8);
    fc.assert(
      fc.property(secret, fc.uint8Array(), fc.uint8Array(), fc.boolean(), (value, before, behind, isUrl) => {
        const bytes = Buffer.concat([before, Buffer.from(value), behind]);
        const masked = createMask([new Secret(value)])(bytes.toString(isUrl ? 'base64url' : 'base64'));
        expect(masked).toContain('[secret]');
        // What is left on the left decodes to what stood before, and to nothing of the secret's first byte.
        const left = masked.slice(0, masked.indexOf('[secret]'));
        expect(Buffer.from(left, 'base64').length).toBeLessThanOrEqual(before.length);
      }),
    );
  });

  it('shorter than eight characters stays, unless that is asked for', () => {
    expect(createMask([new Secret('1234567')])('id 1234567')).toBe('id 1234567');
    expect(createMask([new Secret('1234567')], 4)('id 1234567')).toBe('id [secret]');
    expect(createMask([])('anything')).toBe('anything');
  });

  it('that is part of another leaves nothing of the other', () => {
    const both = createMask([new Secret('abcdefgh'), new Secret('abcdefgh-ijklmnop')]);
    expect(both('x abcdefgh-ijklmnop abcdefgh')).toBe('x [secret] [secret]');
  });

  it('is written in JSON in the ways of the usual serialisers', () => {
    expect(jsonForms('a/b<c>&d"é')).toEqual(
      expect.arrayContaining([
        'a/b<c>&d\\"é',
        'a\\/b<c>&d\\"é',
        'a/b\\u003cc\\u003e\\u0026d\\"é',
        'a/b\\u003Cc\\u003E\\u0026d\\u0022\\u00E9',
        'a\\/b<c>&d\\"\\u00e9',
      ]),
    );
    expect(jsonForms('plain-token_1.2~3')).toEqual(['plain-token_1.2~3']);
  });
});
