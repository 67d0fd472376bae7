import { describe, expect, it } from 'vitest';
import { buildView, type Standing } from '../../src/catalog/view.ts';
import { aTool } from './a-tenant.ts';
import { parsedPage, SELF, standingOf, toolsIn, viewOf } from './a-view.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `t${String(n).padStart(5, '0')}`);

describe('a page of tools', () => {
  it('says the same to both eras, in the words of each', () => {
    const view = viewOf([['linear', [aTool('search', { title: 'S', annotations: { readOnlyHint: true } })]]]);
    const tools = [
      { name: 'linear__search', inputSchema: { type: 'object' }, title: 'S', annotations: { readOnlyHint: true } },
    ];
    const servers = { linear: { state: 'ok' } };
    expect(parsedPage(view.page(undefined), 'legacy')).toEqual({ tools, _meta: { 'keybearer/servers': servers } });
    expect(parsedPage(view.page(undefined), 'modern')).toEqual({
      resultType: 'complete',
      tools,
      ttlMs: 60_000,
      cacheScope: 'private',
      _meta: { [SERVER_INFO]: SELF, 'keybearer/servers': servers },
    });
  });

  it('is there also when there is nothing to list', () => {
    expect(parsedPage(viewOf([]).page(undefined))).toEqual({ tools: [], _meta: { 'keybearer/servers': {} } });
  });

  it('changes nothing of a tool but its name', () => {
    const tool = aTool('search', {
      description: 'é\u2028"',
      'x-new': { deep: [null] },
      inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    expect(parsedPage(viewOf([['linear', [tool]]]).page(undefined))['tools']).toEqual([
      { ...tool, name: 'linear__search' },
    ]);
  });
});

describe('paging', () => {
  it('B081: gives every tool once and ends, in pages of 2500', () => {
    for (const count of [2_499, 2_500, 2_501, 5_000]) {
      const view = viewOf([['a', many(count)]], false);
      expect(toolsIn(view)).toEqual(many(count));
    }
    const first = parsedPage(viewOf([['a', many(2_501)]], false).page(undefined));
    expect(first['tools']).toHaveLength(2_500);
    expect(first['nextCursor']).toMatch(/^[\w-]+$/);
  });

  it('knows no cursor that it did not give', () => {
    const view = viewOf([['a', many(3_000)]], false);
    for (const cursor of ['', 'x', '0', '2500', Buffer.from('behind:t00001').toString('base64url')])
      expect(view.page(cursor)).toBeUndefined();
  });

  it('gives a cursor that means the same after the list grew at its end', () => {
    const cursor = String(parsedPage(viewOf([['a', many(3_000)]], false).page(undefined))['nextCursor']);
    const grown = viewOf([['a', many(3_100)]], false);
    expect(parsedPage(grown.page(cursor))['tools']).toHaveLength(600);
  });
});

describe('what is offered', () => {
  it("is what the definition lets through, by the server's own names", () => {
    const tools = ['search_a', 'search_b', 'delete_a', 'delete_search'];
    expect(
      toolsIn(viewOf([['a', tools]], true, { a: { only: ['search_*', 'delete_*'], except: ['delete_*'] } })),
    ).toEqual(['a__search_a', 'a__search_b']);
    expect(toolsIn(viewOf([['a', tools]], true, { a: { only: [] } }))).toEqual([]);
    expect(toolsIn(viewOf([['a', tools]], true, { a: { except: ['*'] } }))).toEqual([]);
  });

  it('cannot be called either when it is not offered', () => {
    const view = viewOf([['a', ['search', 'delete']]], true, { a: { except: ['delete'] } });
    expect([...view.targets.keys()]).toEqual(['a__search']);
  });

  it('is the stand-in where nobody has signed in yet, and only there', () => {
    const definitions = {
      a: { credential: { kind: 'secret' } },
      b: { credential: { kind: 'secret', owner: 'tenant' } },
      c: {},
    };
    const before = viewOf(
      [
        ['a', undefined],
        ['b', undefined],
        ['c', undefined],
      ],
      true,
      definitions,
    );
    expect(toolsIn(before)).toEqual(['a__connect']);
    const after = viewOf(
      [
        ['a', ['search']],
        ['b', ['x']],
        ['c', ['y']],
      ],
      true,
      definitions,
    );
    expect(toolsIn(after)).toEqual(['a__search', 'b__x', 'c__y']);
  });

  it('B089: keeps the stand-in callable when it is not listed any more', () => {
    const view = viewOf([['a', ['search']]], true, { a: { credential: { kind: 'secret' } } });
    expect(toolsIn(view)).not.toContain('a__connect');
    expect(view.targets.get('a__connect')).toMatchObject({ kind: 'connect' });
  });

  it('may not be cached by an agent while someone can still sign in', () => {
    const view = viewOf([['a', undefined]], true, { a: { credential: { kind: 'secret' } } });
    expect(parsedPage(view.page(undefined), 'modern')).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });
});

describe('what is told of the servers', () => {
  it('names each with its state and reason, also those that offer nothing', () => {
    const down: Standing = { ...standingOf('down', undefined), state: 'unavailable', reason: 'It cannot be reached.' };
    const wrong: Standing = {
      name: 'wrong',
      server: undefined,
      list: undefined,
      state: 'invalid',
      reason: '$.url: is missing',
    };
    const view = buildView([down, standingOf('fine', ['x']), wrong], true, SELF);
    expect(toolsIn(view)).toEqual(['fine__x']);
    expect(parsedPage(view.page(undefined))['_meta']).toEqual({
      'keybearer/servers': {
        down: { state: 'unavailable', reason: 'It cannot be reached.' },
        fine: { state: 'ok' },
        wrong: { state: 'invalid', reason: '$.url: is missing' },
      },
    });
  });

  it('says how many bytes the pages take, so that memory can be bounded', () => {
    const view = viewOf([['a', many(3_000)]]);
    const pages = [view.page(undefined), view.page(String(parsedPage(view.page(undefined))['nextCursor']))];
    expect(view.bytes).toBe(
      pages.reduce((sum, page) => sum + (page?.legacy.length ?? 0) + (page?.modern.length ?? 0), 0),
    );
  });
});
