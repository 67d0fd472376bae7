import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue, paramHeadersOf, paramHeaderValues } from '../../src/wire/headers.ts';

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

const schema = (properties: Record<string, unknown>): unknown => ({ type: 'object', properties });
const mirrored = (name: unknown, type: unknown = 'string'): unknown => ({ type, 'x-mcp-header': name });

describe('paramHeadersOf', () => {
  it('finds annotations at any depth of properties', () => {
    const found = paramHeadersOf(
      schema({ region: mirrored('Region'), deep: schema({ n: mirrored('N', 'integer') }), plain: { type: 'string' } }),
    );
    expect(found).toEqual([
      { header: 'mcp-param-region', path: ['region'] },
      { header: 'mcp-param-n', path: ['deep', 'n'] },
    ]);
  });

  it('finds none where none are, whatever the schema looks like', () => {
    for (const value of [
      undefined,
      null,
      true,
      'x',
      [],
      {},
      schema({}),
      { properties: [] },
      schema({ a: true }),
      { items: schema({ a: mirrored('A') }) },
    ]) {
      expect(paramHeadersOf(value)).toEqual([]);
    }
  });

  it.each([
    ['a name that is no header name', schema({ a: mirrored('a b') })],
    ['a name with a line end', schema({ a: mirrored('a\r\nb') })],
    ['an empty name', schema({ a: mirrored('') })],
    ['a name that is no text', schema({ a: mirrored(7) })],
    ['a name of 65 characters', schema({ a: mirrored('a'.repeat(65)) })],
    ['one name twice', schema({ a: mirrored('A'), b: mirrored('a') })],
    ['an object', schema({ a: mirrored('A', 'object') })],
    ['a list of types', schema({ a: mirrored('A', ['string', 'null']) })],
    ['no type', schema({ a: { 'x-mcp-header': 'A' } })],
  ])('refuses %s', (_, value) => {
    expect(paramHeadersOf(value)).toBeUndefined();
  });

  it('ends on a schema that is nested without end', () => {
    const node: { properties?: Record<string, unknown>; type: string } = { type: 'object' };
    node.properties = { again: node };
    expect(paramHeadersOf(node)).toEqual([]);
  });
});

describe('paramHeaderValues', () => {
  const wanted = [
    { header: 'mcp-param-region', path: ['region'] },
    { header: 'mcp-param-n', path: ['deep', 'n'] },
  ];

  it('mirrors texts, numbers and booleans, encoded where they have to be', () => {
    expect(paramHeaderValues(wanted, { region: 'süd', deep: { n: 4.5 } })).toEqual([
      ['mcp-param-region', '=?base64?c8O8ZA==?='],
      ['mcp-param-n', '4.5'],
    ]);
    expect(paramHeaderValues(wanted, { region: false })).toEqual([['mcp-param-region', 'false']]);
  });

  it('has none for what is absent, null, nested or inherited', () => {
    for (const args of [undefined, null, [], {}, { region: null }, { region: {} }, { deep: 'x' }])
      expect(paramHeaderValues(wanted, args)).toEqual([]);
    expect(
      paramHeaderValues(
        [
          { header: 'h', path: ['constructor'] },
          { header: 'i', path: ['__proto__', 'toString', 'name'] },
        ],
        {},
      ),
    ).toEqual([]);
  });
});
