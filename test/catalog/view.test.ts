import { describe, expect, it } from 'vitest';
import { buildOffer, type Standing, viewOf as viewOfOffer } from '../../src/catalog/view.ts';
import { aTool } from './a-tenant.ts';
import { parsedPage, SELF, standingOf, toolsIn, viewOf, viewOfStandings } from './a-view.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `t${String(n).padStart(5, '0')}`);

describe('a page of tools', () => {
  it('says the same to both eras, in the words of each', async () => {
    const view = await viewOf([['linear', [aTool('search', { title: 'S', annotations: { readOnlyHint: true } })]]]);
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

  it('is there also when there is nothing to list', async () => {
    expect(parsedPage((await viewOf([])).page(undefined))).toEqual({ tools: [], _meta: { 'keybearer/servers': {} } });
  });

  it('changes nothing of a tool but its name', async () => {
    const tool = aTool('search', {
      description: 'é\u2028"',
      'x-new': { deep: [null] },
      inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    expect(parsedPage((await viewOf([['linear', [tool]]])).page(undefined))['tools']).toEqual([
      { ...tool, name: 'linear__search' },
    ]);
  });
});

describe('paging', () => {
  it('B081: gives every tool once and ends, in pages of 2500', async () => {
    for (const count of [2_499, 2_500, 2_501, 5_000]) {
      const view = await viewOf([['a', many(count)]], false);
      expect(toolsIn(view)).toEqual(many(count));
    }
    const first = parsedPage((await viewOf([['a', many(2_501)]], false)).page(undefined));
    expect(first['tools']).toHaveLength(2_500);
    expect(first['nextCursor']).toMatch(/^[\w-]+$/);
  });

  it('knows no cursor that it did not give', async () => {
    const view = await viewOf([['a', many(3_000)]], false);
    for (const cursor of ['', 'x', '0', '2500', Buffer.from('behind:t00001').toString('base64url')])
      expect(view.page(cursor)).toBeUndefined();
  });

  it('gives a cursor that means the same after the list grew at its end', async () => {
    const cursor = String(parsedPage((await viewOf([['a', many(3_000)]], false)).page(undefined))['nextCursor']);
    const grown = await viewOf([['a', many(3_100)]], false);
    expect(parsedPage(grown.page(cursor))['tools']).toHaveLength(600);
  });
});

describe('what is offered', () => {
  it("is what the definition lets through, by the server's own names", async () => {
    const tools = ['search_a', 'search_b', 'delete_a', 'delete_search'];
    expect(
      toolsIn(await viewOf([['a', tools]], true, { a: { only: ['search_*', 'delete_*'], except: ['delete_*'] } })),
    ).toEqual(['a__search_a', 'a__search_b']);
    expect(toolsIn(await viewOf([['a', tools]], true, { a: { only: [] } }))).toEqual([]);
    expect(toolsIn(await viewOf([['a', tools]], true, { a: { except: ['*'] } }))).toEqual([]);
  });

  it('cannot be called either when it is not offered', async () => {
    const view = await viewOf([['a', ['search', 'delete']]], true, { a: { except: ['delete'] } });
    expect([...view.targets.keys()]).toEqual(['a__search']);
  });

  it('is the stand-in where nobody has signed in yet, and only there', async () => {
    const definitions = {
      a: { credential: { kind: 'secret' } },
      b: { credential: { kind: 'secret', owner: 'tenant' } },
      c: {},
    };
    const before = await viewOf(
      [
        ['a', undefined],
        ['b', undefined],
        ['c', undefined],
      ],
      true,
      definitions,
    );
    expect(toolsIn(before)).toEqual(['a__connect']);
    const after = await viewOf(
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

  it('B089: keeps the stand-in callable when it is not listed any more', async () => {
    const view = await viewOf([['a', ['search']]], true, { a: { credential: { kind: 'secret' } } });
    expect(toolsIn(view)).not.toContain('a__connect');
    expect(view.targets.get('a__connect')).toMatchObject({ kind: 'connect' });
  });

  it('may not be cached by an agent while someone can still sign in', async () => {
    const view = await viewOf([['a', undefined]], true, { a: { credential: { kind: 'secret' } } });
    expect(parsedPage(view.page(undefined), 'modern')).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });
});

describe('what is told of the servers', () => {
  it('names each with its state and reason, also those that offer nothing', async () => {
    const down: Standing = { ...standingOf('down', undefined), state: 'unavailable', reason: 'It cannot be reached.' };
    const wrong: Standing = {
      name: 'wrong',
      server: undefined,
      list: undefined,
      state: 'invalid',
      reason: '$.url: is missing',
    };
    const view = await viewOfStandings([down, standingOf('fine', ['x']), wrong]);
    expect(toolsIn(view)).toEqual(['fine__x']);
    expect(parsedPage(view.page(undefined))['_meta']).toEqual({
      'keybearer/servers': {
        down: { state: 'unavailable', reason: 'It cannot be reached.' },
        fine: { state: 'ok' },
        wrong: { state: 'invalid', reason: '$.url: is missing' },
      },
    });
  });

  it('says how many bytes the pages take, so that memory can be bounded', async () => {
    const offer = await buildOffer([standingOf('a', many(3_000))], true);
    const bytes = [...offer.pages.values()].flat().reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    expect(bytes).toBeGreaterThan(100_000);
    expect(offer.bytes).toBe(bytes);
  });

  it('is all that changes with their state: what they offer is not built again', async () => {
    const offer = await buildOffer([standingOf('a', many(3_000))], true);
    const [up, down] = [viewOfOffer(offer, [standingOf('a', [])], SELF), viewOfOffer(offer, [], SELF)];
    expect(up.targets).toBe(down.targets);
    expect(up.page(undefined)?.legacy[1]).toBe(down.page(undefined)?.legacy[1]);
    expect(parsedPage(up.page(undefined))['_meta']).not.toEqual(parsedPage(down.page(undefined))['_meta']);
  });
});

describe('a long list', () => {
  it('is put together in pieces, between which everybody else has a turn', async () => {
    const servers = Array.from({ length: 4 }, (_, n) => standingOf(`s${n}`, many(2_500)));
    let isBuilt = false;
    const built = buildOffer(servers, true).then(() => {
      isBuilt = true;
    });
    let turns = 0;
    while (!isBuilt) {
      await new Promise(setImmediate);
      turns++;
    }
    await built;
    // Ten thousand tools, each as costly as 200 bytes beside its text.
    expect(turns).toBeGreaterThan(30);
  });
});
