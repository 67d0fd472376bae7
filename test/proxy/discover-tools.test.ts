import { describe, expect, it } from 'vitest';
import { createToolSource, listAll } from '../../src/proxy/discover-tools.ts';
import { Reply } from '../../src/wire/reply.ts';
import { aServer } from '../credential/in-memory.ts';
import { ANNA, aConnection, NEVER, type Outcome, settled, Upstream } from './support.ts';

const page = (tools: readonly unknown[], nextCursor?: unknown): Reply =>
  Reply.of(1, { result: { tools, ...(nextCursor === undefined ? {} : { nextCursor }) } });
const tool = (n: number | string): { name: string } => ({ name: `t${n}` });

async function listed(...outcomes: Outcome[]): Promise<{ names: readonly unknown[]; cursors: readonly unknown[] }> {
  const connection = aConnection(outcomes);
  const tools = await listAll(connection, NEVER);
  return {
    names: tools.map((one) => (JSON.parse(one) as { name: unknown }).name),
    cursors: connection.requests.map(({ params }) => params?.['cursor']),
  };
}

describe('listing', () => {
  it('B081: follows the cursor and gives every tool once', async () => {
    expect(
      await listed(page([tool(1), tool(2)], 'a'), page([tool(3), tool(4)], 'b'), page([tool(5), tool(6)])),
    ).toEqual({
      names: ['t1', 't2', 't3', 't4', 't5', 't6'],
      cursors: [undefined, 'a', 'b'],
    });
  });

  it('B083: takes an empty cursor for a cursor', async () => {
    expect(await listed(page([tool(1)], ''), page([tool(2)]))).toEqual({
      names: ['t1', 't2'],
      cursors: [undefined, ''],
    });
  });

  it.each([[null], [7], [{}], [false]])('takes %j for no cursor', async (cursor) => {
    expect((await listed(page([tool(1)], cursor))).cursors).toEqual([undefined]);
  });

  it('B086: ends when a cursor comes again, also after others', async () => {
    expect((await listed(page([tool(1)], 'x'), page([tool(1)], 'x'))).cursors).toEqual([undefined, 'x']);
    expect((await listed(page([tool(1)], 'x'), page([tool(2)], 'y'), page([tool(3)], 'x'))).cursors).toEqual([
      undefined,
      'x',
      'y',
    ]);
  });

  it('B085: gives up after a hundred pages', async () => {
    let n = 0;
    const connection = aConnection([() => Promise.resolve(page([tool(n)], `p${++n}`))]);
    await expect(listAll(connection, NEVER)).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: 'The server lists more than 100 pages of tools.',
    });
    expect(connection.requests).toHaveLength(100);
  });

  it('B085: gives up after 5000 tools or 2 MiB of them', async () => {
    const many = Array.from({ length: 2_501 }, (_, n) => tool(n));
    await expect(listed(page(many, 'a'), page(many))).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('5000 tools'),
    });
    const large = [{ name: 'big', description: 'x'.repeat(1024 * 1024) }];
    await expect(listed(page(large, 'a'), page(large))).rejects.toMatchObject({ code: 'upstream_protocol' });
    await expect(listed(page(Array.from({ length: 1_000_000 }, () => 1)))).rejects.toMatchObject({
      code: 'upstream_protocol',
    });
    expect((await listed(page(many.slice(0, 2_500), 'a'), page(many.slice(0, 2_500)))).names).toHaveLength(5_000);
  });

  it('B085: looks at no tool behind the first that is too many', async () => {
    const tools = `${'1,'.repeat(2_501)},`;
    const broken = Reply.from(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]}}`)) as Reply;
    await expect(listed(broken)).rejects.toMatchObject({ message: expect.stringContaining('without a list') });
    const many = page(
      Array.from({ length: 2_500 }, (_, n) => tool(n)),
      'a',
    );
    await expect(listed(many, broken)).rejects.toMatchObject({ message: expect.stringContaining('5000 tools') });
  });

  it('asks nothing of a server that offers no tools', async () => {
    const connection = aConnection([page([tool(1)])], 'legacy', { prompts: {} });
    expect(await listAll(connection, NEVER)).toEqual([]);
    expect(connection.requests).toEqual([]);
  });

  it.each([
    [
      'an error',
      Reply.of(1, { error: { code: -32601, message: 'No such method' } }),
      'The server refused to list its tools: No such method',
    ],
    ['an error without a word', Reply.of(1, { error: 7 }), 'The server refused to list its tools: no reason given'],
    ['a result without tools', Reply.of(1, { result: {} }), 'The server answered tools/list without a list of tools.'],
    [
      'tools that are no list',
      Reply.of(1, { result: { tools: { a: 1 } } }),
      'The server answered tools/list without a list of tools.',
    ],
    ['a text', Reply.of(1, { result: 'tools' }), 'The server answered tools/list without a list of tools.'],
  ])('says what was wrong with %s', async (_, reply, message) => {
    await expect(listed(reply)).rejects.toMatchObject({ code: 'upstream_protocol', message });
  });

  it('does not quote an error at length', async () => {
    await expect(listed(Reply.of(1, { error: { message: 'x'.repeat(5_000) } }))).rejects.toMatchObject({
      message: expect.stringMatching(/^.{0,260}$/),
    });
  });
});

describe('a listing as a whole', () => {
  it('B085: has one deadline, connecting included, however lively the pages', async () => {
    const upstream = new Upstream();
    const slow = aServer({ connectTimeoutMs: 1_000, timeoutMs: 10_000 });
    let n = 0;
    upstream.outcomes = Array.from(
      { length: 50 },
      () => () => upstream.clock.sleep(1_000).then(() => page([tool(n)], `p${++n}`)),
    );
    const source = createToolSource({ withUpstream: upstream.withUpstream, clock: upstream.clock });
    const listing = source(slow, ANNA, NEVER);
    listing.catch(() => undefined);
    for (let s = 0; s < 15; s++) {
      await settled();
      upstream.clock.advance(1_000);
    }
    await settled();
    // The connection ends a request when its signal fires; here the next one finds it fired.
    expect(upstream.requests.at(-1)?.signal.reason).toMatchObject({ code: 'upstream_timeout' });
  });

  it('ends with whoever asked, and leaves no timer', async () => {
    const upstream = new Upstream();
    upstream.outcomes = [page([tool(1)])];
    const source = createToolSource({ withUpstream: upstream.withUpstream, clock: upstream.clock });
    const before = upstream.clock.pending;
    expect(await source(aServer(), ANNA, NEVER)).toEqual([JSON.stringify(tool(1))]);
    expect(upstream.clock.pending).toBe(before);
  });
});
