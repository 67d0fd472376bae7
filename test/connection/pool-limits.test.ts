import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/connection/lease.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { someLimits } from '../support/limits.ts';
import { acquire, anna, held, server } from './a-pool.ts';
import { aServer, keyOf, PoolBench, settled } from './support.ts';

describe('the limit of a tenant', () => {
  it('makes room by ending the connection that has been idle longest', async () => {
    const bench = new PoolBench(3);
    for (const name of ['a', 'b', 'c']) bench.pool.release(await acquire(bench, keyOf(name)));
    bench.pool.release(await acquire(bench, keyOf('a')));
    await acquire(bench, keyOf('d'));
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([false, true, false, false]);
    expect(bench.pool.size).toBe(3);
  });

  it('never ends one that is in use: overloaded, with a time to wait', async () => {
    const bench = new PoolBench(2);
    const leases = [await acquire(bench, keyOf('a')), await acquire(bench, keyOf('b'))];
    await expect(acquire(bench, keyOf('c'))).rejects.toMatchObject({
      code: 'overloaded',
      data: { retryAfterMs: 1_000 },
    });
    expect(bench.live).toBe(2);
    bench.pool.release(leases[0] as Lease);
    await expect(acquire(bench, keyOf('c'))).resolves.toBeDefined();
  });

  it('takes nothing from another tenant', async () => {
    const bench = new PoolBench(1);
    const foreign = aServer({}, { tenantId: aTenantId('umbrella') });
    bench.pool.release(await acquire(bench, anna, foreign));
    await acquire(bench, keyOf('a'));
    await expect(acquire(bench, keyOf('b'))).rejects.toMatchObject({ code: 'overloaded' });
    expect(bench.connections[0]?.isClosed).toBe(false);
  });

  it('counts those that are being opened: many at once do not get past it', async () => {
    const bench = new PoolBench(3);
    bench.dialsAtOnce = false;
    const all = Promise.allSettled(Array.from({ length: 10 }, (_, n) => acquire(bench, keyOf(`p${n}`))));
    await settled();
    expect(bench.dials).toHaveLength(3);
    for (const dial of bench.dials) dial.succeed();
    expect((await all).filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(bench.pool.size).toBe(3);
  });

  const files = aServer(
    { command: 'mcp-fs', credential: { kind: 'secret', env: 'KEY' } },
    { source: 'file', name: 'files' },
  );

  it('B059: is smaller for commands: of these the one idle longest makes room, and nothing else', async () => {
    const bench = new PoolBench(100, 2);
    bench.pool.release(await acquire(bench, keyOf('web')));
    for (const name of ['a', 'b']) bench.pool.release(await acquire(bench, keyOf(name), files));
    bench.pool.release(await acquire(bench, keyOf('a'), files));
    bench.pool.release(await acquire(bench, keyOf('c'), files));
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([false, false, true, false]);
  });

  it('B059: never ends a command with a call in flight, nor counts others: overloaded, with a time to wait', async () => {
    const bench = new PoolBench(100, 2);
    for (const name of ['a', 'b']) await acquire(bench, keyOf(name), files);
    for (const name of ['a', 'b', 'c']) await acquire(bench, keyOf(name));
    await expect(acquire(bench, keyOf('c'), files)).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('commands') as string,
      data: { retryAfterMs: 1_000 },
    });
    expect(bench.live).toBe(5);
  });

  it('B059: counts commands that are being started', async () => {
    const bench = new PoolBench(100, 3);
    bench.dialsAtOnce = false;
    const all = Promise.allSettled(Array.from({ length: 200 }, (_, n) => acquire(bench, keyOf(`p${n}`), files)));
    await settled();
    expect(bench.dials).toHaveLength(3);
    for (const dial of bench.dials) dial.succeed();
    expect((await all).filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });

  it('gives the place back when a dial fails', async () => {
    const bench = new PoolBench(1);
    bench.dialsAtOnce = false;
    for (let n = 0; n < 3; n++) {
      const failing = acquire(bench, keyOf(`p${n}`));
      await settled();
      bench.dials[n]?.fail(new Error('no'));
      await expect(failing).rejects.toThrow('no');
    }
  });
});

describe('two tenants of one pool', () => {
  const umbrella = aTenantId('umbrella');
  const foreign = aServer({}, { tenantId: umbrella });

  it('end only their own connections, the longest idle first, and none with a call in flight', async () => {
    const bench = new PoolBench(2);
    // The other tenant's has been idle for longer than any of the first.
    bench.pool.release(await acquire(bench, anna, foreign));
    const busy = await acquire(bench, keyOf('a'));
    bench.pool.release(await acquire(bench, keyOf('b')));
    bench.pool.release(await acquire(bench, keyOf('c')));
    bench.pool.release(await acquire(bench, keyOf('d')));
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([false, false, true, true, false]);
    expect(busy.connection.isClosed).toBe(false);
    await acquire(bench, keyOf('e'));
    await expect(acquire(bench, keyOf('f'))).rejects.toMatchObject({ code: 'overloaded' });
    await expect(acquire(bench, keyOf('g'), foreign)).resolves.toBeDefined();
  });

  it('have each their own limit, and one that is lowered while it is reached counts from the next connection on', async () => {
    let ofAcme = 4;
    const bench = new PoolBench();
    bench.limitsOf = (tenantId) => someLimits({ maxConnections: tenantId === umbrella ? 1 : ofAcme });
    for (const name of ['a', 'b', 'c', 'd']) bench.pool.release(await acquire(bench, keyOf(name)));
    bench.pool.release(await acquire(bench, anna, foreign));
    ofAcme = 2;
    await acquire(bench, keyOf('e'));
    expect([bench.pool.list(server.tenantId).length, bench.pool.list(umbrella).length]).toEqual([2, 1]);
  });

  it('wait apart: where one has as many waiting calls as it may, it is told so at once, and the other goes on', async () => {
    const bench = new PoolBench(2_000, 64, { maxWaitingCalls: 3 });
    bench.dialsAtOnce = false;
    const leaver = new AbortController();
    const waiting = ['a', 'b', 'c'].map((name) => acquire(bench, keyOf(name), server, leaver.signal));
    await settled();
    await expect(acquire(bench, keyOf('d'))).rejects.toMatchObject({
      code: 'overloaded',
      data: { retryAfterMs: 1_000 },
    });
    expect(bench.dials).toHaveLength(3);
    const other = acquire(bench, anna, foreign);
    await settled();
    bench.dials[3]?.succeed();
    await expect(other).resolves.toMatchObject({ server: foreign });
    // Who leaves makes room, also while the connection they waited for is not there yet.
    leaver.abort(new Error('left'));
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
    const next = acquire(bench, keyOf('e'));
    await settled();
    bench.dials[4]?.succeed();
    await expect(next).resolves.toBeDefined();
  });

  it('wait apart for places, too', async () => {
    const bench = new PoolBench(2_000, 64, { maxWaitingCalls: 2 });
    const narrow = aServer({ maxConcurrentCalls: 1 });
    const narrowForeign = aServer({ maxConcurrentCalls: 1 }, { tenantId: umbrella });
    const [place] = await held(bench, 1, narrow);
    const [foreignPlace] = await held(bench, 1, narrowForeign);
    const mine = [acquire(bench, anna, narrow), acquire(bench, anna, narrow)];
    await settled();
    await expect(acquire(bench, anna, narrow)).rejects.toMatchObject({ code: 'overloaded' });
    const theirs = acquire(bench, anna, narrowForeign);
    await settled();
    bench.pool.release(foreignPlace as Lease);
    await expect(theirs).resolves.toBe(foreignPlace);
    bench.pool.release(place as Lease);
    bench.pool.release(await (mine[0] as Promise<Lease>));
    await expect(mine[1]).resolves.toBe(place);
  });
});

describe('the line before a server', () => {
  const narrow = aServer({ maxConcurrentCalls: 2 });

  it('lets so many calls in at a time, the others in the order they came', async () => {
    const bench = new PoolBench();
    const order: number[] = [];
    const [a, b] = await held(bench, 2, narrow);
    const waiting = [1, 2, 3].map((n) => acquire(bench, anna, narrow).then((lease) => (order.push(n), lease)));
    await settled();
    expect(order).toEqual([]);
    bench.pool.release(a as Lease);
    await settled();
    expect(order).toEqual([1]);
    bench.pool.release(b as Lease);
    bench.pool.release((await waiting[0]) as Lease);
    await settled();
    expect(order).toEqual([1, 2, 3]);
    expect(a?.inFlight).toBe(2);
  });

  it('is left by whoever gives up, and the place goes to the next', async () => {
    const bench = new PoolBench();
    const [a, b] = await held(bench, 2, narrow);
    const leaver = new AbortController();
    const [left, stays] = [acquire(bench, anna, narrow, leaver.signal), acquire(bench, anna, narrow)];
    await settled();
    leaver.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    bench.pool.release(a as Lease);
    await expect(stays).resolves.toBe(a);
    await expect(acquire(bench, anna, narrow, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    bench.pool.release(b as Lease);
    expect(a?.inFlight).toBe(1);
  });

  it('never loses a place, whatever order of coming, leaving and ending', async () => {
    const bench = new PoolBench();
    let random = 42;
    const next = (below: number): number => (random = (random * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const inside: Lease[] = [];
    const leavers: AbortController[] = [];
    let most = 0;
    for (let n = 0; n < 2_000; n++) {
      const what = next(3);
      if (what === 0) {
        const leaver = new AbortController();
        leavers.push(leaver);
        Promise.resolve(bench.pool.acquire(narrow, anna, leaver.signal)).then(
          (lease) => inside.push(lease),
          () => undefined,
        );
      } else if (what === 1) leavers.splice(next(leavers.length + 1), 1)[0]?.abort(new Error('left'));
      else {
        const lease = inside.splice(next(inside.length + 1), 1)[0];
        if (lease !== undefined) bench.pool.release(lease);
      }
      if (next(2) === 0) await settled();
      most = Math.max(most, inside.length);
    }
    for (const leaver of leavers) leaver.abort(new Error('the end'));
    await settled();
    for (const lease of inside.splice(0)) bench.pool.release(lease);
    await settled();
    for (const lease of inside.splice(0)) bench.pool.release(lease);
    expect(most).toBe(2);
    expect(bench.pool.list(narrow.tenantId).map(({ inFlight, waiting }) => [inFlight, waiting])).toEqual([[0, 0]]);
    bench.clock.advance(400_000);
    expect(bench.live).toBe(0);
  });

  it('has an end: overloaded when a thousand wait', async () => {
    const bench = new PoolBench();
    await held(bench, 2, narrow);
    const controller = new AbortController();
    const waiting = Promise.allSettled(
      Array.from({ length: 1_000 }, () => acquire(bench, anna, narrow, controller.signal)),
    );
    await settled();
    await expect(acquire(bench, anna, narrow)).rejects.toMatchObject({ code: 'overloaded' });
    controller.abort(new Error('enough'));
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('goes on when the connection is retired: those who wait are served before it closes', async () => {
    const bench = new PoolBench();
    const [a, b] = await held(bench, 2, narrow);
    const waiting = acquire(bench, anna, narrow);
    await settled();
    bench.pool.retire(narrow.tenantId, () => true);
    bench.pool.release(a as Lease);
    const lease = await waiting;
    bench.pool.release(b as Lease);
    expect(bench.live).toBe(1);
    bench.pool.release(lease);
    expect(bench.live).toBe(0);
  });
});
