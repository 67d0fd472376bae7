import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serverNameProblem } from '../../src/catalog/definition-rules.ts';
import { connectName, exposedName } from '../../src/catalog/tool-name.ts';
import { toolsIn, viewOf } from './a-view.ts';

const LISTED = /^[A-Za-z0-9_.-]{1,64}$/;
const prefixes = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/);
const toolNames = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
  fc.constantFrom(
    'connect',
    '_private',
    '__meta',
    'a__',
    'b__c',
    'search',
    'Search',
    'has two blanks',
    '漢字',
    'x'.repeat(62),
    'x'.repeat(63),
  ),
);
const servers = fc.uniqueArray(fc.tuple(prefixes, fc.uniqueArray(toolNames, { maxLength: 8 })), {
  selector: ([name]) => name,
  minLength: 1,
  maxLength: 4,
});

describe('a listed name', () => {
  it('B061, B063: has at most 64 characters that model APIs take', async () => {
    await fc.assert(
      fc.asyncProperty(servers, fc.boolean(), async (all, isPrefixed) => {
        for (const name of toolsIn(await viewOf(all, isPrefixed))) expect(name).toMatch(LISTED);
      }),
      { numRuns: 300 },
    );
  });

  it('B064, B066, B067: is there once, and finds its way back to its server and its exact own name', async () => {
    await fc.assert(
      fc.asyncProperty(servers, fc.boolean(), async (all, isPrefixed) => {
        const view = await viewOf(all, isPrefixed);
        const listed = toolsIn(view);
        expect(new Set(listed).size).toBe(listed.length);
        const reached = listed.map((name) => {
          const target = view.targets.get(name);
          return target?.kind === 'tool' ? JSON.stringify([target.server.name, target.tool.name]) : 'nothing';
        });
        const wanted = all.flatMap(([server, tools]) => tools.map((tool) => JSON.stringify([server, tool])));
        expect(new Set(reached)).toEqual(new Set(wanted));
      }),
      { numRuns: 300 },
    );
  });

  it('is the same whatever order servers and tools come in', async () => {
    await fc.assert(
      fc.asyncProperty(servers, async (all) => {
        const backwards = [...all].reverse().map(([name, tools]) => [name, [...tools].reverse()] as [string, string[]]);
        expect(toolsIn(await viewOf(backwards))).toEqual(toolsIn(await viewOf(all)));
      }),
      { numRuns: 200 },
    );
  });

  it("is prefix and own name where that is plain and short enough, and the own name on the server's own path", async () => {
    expect(toolsIn(await viewOf([['linear', ['search', '_private', '__meta', 'a__']]]))).toEqual([
      'linear____meta',
      'linear___private',
      'linear__a__',
      'linear__search',
    ]);
    expect(toolsIn(await viewOf([['linear', ['search', 'a__']]], false))).toEqual(['a__', 'search']);
  });

  it('B061: is shortened with a fingerprint otherwise, which stays the same', () => {
    expect(exposedName('linear', 'linear', 'x'.repeat(62), () => false)).toBe(`linear__${'x'.repeat(47)}-d5f3783d`);
    expect(exposedName('linear', 'linear', 'has two blanks', () => false)).toMatch(
      /^linear__has_two_blanks-[0-9a-f]{8}$/,
    );
    expect(exposedName('linear', 'linear', 'has two blanks', () => false)).not.toBe(
      exposedName('linear', 'other', 'has two blanks', () => false),
    );
    expect(exposedName('linear', 'linear', '漢', () => false)).not.toBe(
      exposedName('linear', 'linear', '字', () => false),
    );
  });
});

describe('the page on names', () => {
  const page = readFileSync(new URL('../../docs/reference/naming.md', import.meta.url), 'utf8');

  it('shows names as they are', () => {
    const shown = [...page.matchAll(/^\| `([^`]+)` \| `(linear__[^`]+)` \|$/gm)].map(([, own = '', listed = '']) => [
      own,
      listed,
    ]);
    expect(shown).toHaveLength(3);
    for (const [own = '', listed] of shown) expect(exposedName('linear', 'linear', own, () => false)).toBe(listed);
    const [, digits] = /47 times `x` \+ `(-[0-9a-f]{8})`/.exec(page) ?? [];
    expect(exposedName('linear', 'linear', 'x'.repeat(62), () => false)).toBe(`linear__${'x'.repeat(47)}${digits}`);
  });

  it('shows the pattern that the names above were held to', () => {
    expect(page).toContain(`\n${LISTED.source}\n`);
  });
});

describe('the stand-in', () => {
  it('B063: has a name that fits, however long the prefix', () => {
    expect(connectName('x'.repeat(32))).toMatch(LISTED);
  });

  it('cannot be shadowed by a tool called connect: that one gets another name', async () => {
    const tools = [['linear', ['connect', 'search']]] as const;
    const view = await viewOf(tools, true, { linear: { credential: { kind: 'secret' } } });
    expect(view.targets.get('linear__connect')).toMatchObject({ kind: 'connect' });
    const shadow = toolsIn(view).find((name) => name.startsWith('linear__connect-'));
    expect(view.targets.get(shadow ?? '')).toMatchObject({ kind: 'tool', tool: { name: 'connect' } });
  });

  it('cannot be shadowed by another server whose prefix is the same', async () => {
    const definitions = { a: { prefix: 'x', credential: { kind: 'secret' } }, b: { prefix: 'x' } };
    const view = await viewOf(
      [
        ['a', []],
        ['b', ['connect']],
      ],
      true,
      definitions,
    );
    expect(view.targets.get('x__connect')).toMatchObject({ kind: 'connect', server: { name: 'a' } });
    expect([...view.targets.values()].filter(({ kind }) => kind === 'tool')).toHaveLength(1);
  });

  it('of two servers with one prefix has a name of its own each', async () => {
    const definitions = {
      a: { prefix: 'x', credential: { kind: 'secret' } },
      b: { prefix: 'x', credential: { kind: 'secret' } },
    };
    const view = await viewOf(
      [
        ['a', undefined],
        ['b', undefined],
      ],
      true,
      definitions,
    );
    const servers = toolsIn(view).map((name) => view.targets.get(name)?.server.name);
    expect(servers.sort()).toEqual(['a', 'b']);
    for (const name of toolsIn(view)) expect(name).toMatch(LISTED);
  });
});

describe("a server's name", () => {
  it('B064, B069: never holds what parts server and tool', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.stringMatching(/^[a-z0-9_-]{1,34}$/),
          fc.string({ maxLength: 34 }),
          fc.constantFrom('_a', 'a_', 'a-b', 'A', '', 'a.b', '٣', 'a__b', 'keybearer'),
        ),
        (name) => {
          const isName = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(name) && name !== 'keybearer';
          expect(serverNameProblem(name) === undefined).toBe(isName);
        },
      ),
    );
  });
});
