import { describe, expect, it } from 'vitest';
import { paramHeadersOf, paramHeaderValues } from '../../src/wire/param-headers.ts';

const schema = (properties: Record<string, unknown>): unknown => ({ type: 'object', properties });
const mirrored = (name: unknown, type: unknown = 'string'): unknown => ({ type, 'x-mcp-header': name });

const nested = (levels: number, leaf: unknown): unknown =>
  levels === 0 ? leaf : schema({ deeper: nested(levels - 1, leaf) });

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
      schema({ 'x-mcp-header': { type: 'string' } }),
      {
        default: mirrored('A'),
        examples: [mirrored('A')],
        const: mirrored('A'),
        enum: [mirrored('A')],
        'x-own': mirrored('A'),
      },
      { items: [true, null], oneOf: 'x', $defs: [mirrored('A')] },
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
    ['a number, which may be written in several ways', schema({ a: mirrored('A', 'number') })],
    ['the root, which is no argument', { ...Object(schema({})), 'x-mcp-header': 'A' }],
    ['none at all', schema({ a: mirrored(null) })],
    ['one that is bad behind one that is good', schema({ a: mirrored('A'), b: schema({ c: mirrored('B c') }) })],
    ['one under twenty levels of properties', nested(20, mirrored('a b'))],
    ['no type', schema({ a: { 'x-mcp-header': 'A' } })],
  ])('refuses %s', (_, value) => {
    expect(paramHeadersOf(value)).toBeUndefined();
  });

  it.each([
    'items',
    'additionalItems',
    'prefixItems',
    'contains',
    'contentSchema',
    'additionalProperties',
    'unevaluatedProperties',
    'unevaluatedItems',
    'propertyNames',
    'oneOf',
    'anyOf',
    'allOf',
    'not',
    'if',
    'then',
    'else',
  ])('T24: refuses one that only %s leads to, at any depth', (keyword) => {
    const a = mirrored('A');
    for (const bad of [
      { [keyword]: a },
      { [keyword]: [{}, a] },
      { [keyword]: schema({ a }) },
      { [keyword]: { not: a } },
    ]) {
      expect(paramHeadersOf(bad), JSON.stringify(bad)).toBeUndefined();
      expect(paramHeadersOf(schema({ b: bad }))).toBeUndefined();
    }
  });

  it.each(['$defs', 'definitions', 'patternProperties', 'dependentSchemas', 'dependencies'])(
    'T24: refuses one that only %s leads to, by whatever name',
    (keyword) => {
      const bad = { [keyword]: { some: schema({ a: mirrored('A') }) } };
      expect(paramHeadersOf(bad)).toBeUndefined();
      expect(paramHeadersOf(schema({ b: bad, c: { $ref: `#/properties/b/${keyword}/some` } }))).toBeUndefined();
    },
  );

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
