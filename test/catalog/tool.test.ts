import { describe, expect, it } from 'vitest';
import { storable } from '../../src/catalog/tool.ts';
import { POISON, type PoisonName } from '../support/upstreams/poisoned-tools.ts';
import { aTool } from './a-tenant.ts';
import { definitionOf, readTools } from './read-tools.ts';

const poison = (name: PoisonName): unknown => JSON.parse(POISON[name]) as unknown;
const good = aTool('echo', { description: 'Says it again' });
const namesOf = (listed: readonly unknown[]): readonly string[] => readTools(listed).tools.map(({ name }) => name);
const reasonOf = (item: unknown): string | undefined => readTools([item]).dropped[0]?.reason;

describe('reading a list of tools', () => {
  it('B073: leaves out what cannot be offered, each with a reason, and offers the rest', () => {
    const all = (Object.keys(POISON) as PoisonName[]).map(poison);
    const { tools, dropped } = readTools([...all, good]);
    expect(tools.map(({ name }) => name)).toEqual(
      [
        '__meta',
        '_private',
        'a__',
        'array_output',
        'connect',
        'echo',
        'größe_漢字',
        'has two blanks',
        'l'.repeat(200),
        'remote_ref',
        'schema_missing',
      ].sort(),
    );
    expect(dropped).toEqual([
      { name: 'schema_true', reason: 'its inputSchema is not a schema of an object' },
      { name: 'deep_schema', reason: 'it is nested more than 64 levels deep' },
      { name: '', reason: 'its name is empty or too long' },
      { name: '', reason: 'it has no name' },
      { name: '', reason: 'it has no name' },
      { name: '', reason: 'it has no name' },
      { name: '', reason: 'it has no name' },
    ]);
  });

  it.each([
    ['a name of 257 characters', aTool('x'.repeat(257)), 'its name is empty or too long'],
    ['a schema that is a list', aTool('x', { inputSchema: [] }), 'its inputSchema is not a schema of an object'],
    ['a schema that is null', aTool('x', { inputSchema: null }), 'its inputSchema is not a schema of an object'],
    [
      'a schema of a text',
      aTool('x', { inputSchema: { type: 'string' } }),
      'its inputSchema is not a schema of an object',
    ],
    ['an outputSchema that is none', aTool('x', { outputSchema: true }), 'its outputSchema is not an object'],
    ['more than 64 KiB', aTool('x', { description: 'y'.repeat(70_000) }), 'it is larger than 65536 bytes'],
    [
      'broken header annotations',
      aTool('x', { inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } } }),
      'its x-mcp-header annotations are not valid',
    ],
  ])('leaves out one with %s', (_, item, reason) => {
    expect(reasonOf(item)).toBe(reason);
    expect(namesOf([item, good])).toEqual(['echo']);
  });

  it('B075: adds the type to a schema that lacks it, and nothing else', () => {
    const [tool] = readTools([
      { name: 'x', inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema' } },
    ]).tools;
    expect(definitionOf(tool)).toEqual({
      name: 'x',
      inputSchema: { type: 'object', $schema: 'https://json-schema.org/draft/2020-12/schema' },
    });
    expect(definitionOf(readTools([{ name: 'x', inputSchema: {} }]).tools[0])).toEqual({
      name: 'x',
      inputSchema: { type: 'object' },
    });
    expect(definitionOf(readTools([{ name: 'x' }]).tools[0])).toEqual({ name: 'x', inputSchema: { type: 'object' } });
  });

  it('B070, B072, B105: carries everything else through as it is', () => {
    const item = aTool('x', {
      title: 'X',
      annotations: { readOnlyHint: true, 'x-unknown': 1 },
      icons: [{ src: 'data:' }],
      _meta: { 'vendor/a': 1 },
      inputSchema: {
        type: 'object',
        $defs: { a: { $ref: '#/$defs/a' } },
        definitions: {},
        patternProperties: {},
        anyOf: [{}],
        'x-new': null,
      },
      outputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{}] },
    });
    expect(definitionOf(readTools([item]).tools[0])).toEqual(item);
  });

  it('B067, B086: keeps the first of a name; a later one does not take its place', () => {
    const { tools } = readTools([aTool('send', { title: 'first' }), aTool('send', { title: 'second' })]);
    expect(tools.map(definitionOf)).toEqual([aTool('send', { title: 'first' })]);
  });

  it('gives them in the order of their names, whatever order they came in', () => {
    const names = ['b', 'A', 'a', '_', 'ä', '1'];
    expect(namesOf(names.map((name) => aTool(name)))).toEqual(namesOf([...names].reverse().map((name) => aTool(name))));
  });

  it('finds the arguments that a modern server wants in headers', () => {
    const item = aTool('x', {
      inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    });
    expect(readTools([item]).tools[0]?.paramHeaders).toEqual([{ header: 'mcp-param-region', path: ['region'] }]);
  });
});

describe('what is kept of a listed tool', () => {
  it('is all of it, or a mark that says why not where it is nested too deep to be written down', () => {
    expect(storable(good)).toBe(good);
    const kept = JSON.parse(JSON.stringify(storable(poison('deepSchema')))) as unknown;
    expect(reasonOf(kept)).toBe('it is nested more than 64 levels deep');
    expect(readTools([kept]).dropped[0]?.name).toBe('deep_schema');
    let deep: unknown = 1;
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(JSON.stringify(storable(deep))).toBe('{"keybearer/unstorable":true}');
  });
});
