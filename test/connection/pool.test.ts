import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/connection/lease.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { acquire, anna, held, server } from './a-pool.ts';
import { aServer, keyOf, NO_CREDENTIAL, PoolBench, settled } from './support.ts';

describe('opening', () => {
  it('B278: dials once however many ask', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const wide = aServer({ maxConcurrentCalls: 100 });
    const all = Promise.all(Array.from({ length: 20 }, () => acquire(bench, anna, wide)));
    await settled();
    expect(bench.dials).toHaveLength(1);
    bench.dials[0]?.succeed();
    const leases = await all;
    expect(new Set(leases).size).toBe(1);
    expect(leases[0]?.inFlight).toBe(20);
    expect(await acquire(bench, anna, wide)).toBe(leases[0]);
    expect(bench.dials).toHaveLength(1);
  });

  it('B278: gives a failure to all who wait, keeps none of it, and tries anew for the next', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const all = Promise.allSettled(Array.from({ length: 20 }, () => acquire(bench)));
    await settled();
    bench.dials[0]?.fail(new Error('refused'));
    expect((await all).every((one) => one.status === 'rejected' && (one.reason as Error).message === 'refused')).toBe(
      true,
    );
    bench.dialsAtOnce = true;
    await expect(acquire(bench)).resolves.toBeDefined();
    expect(bench.dials).toHaveLength(2);
    expect(bench.pool.size).toBe(1);
  });

  it('lets each waiter leave by itself; the others get the connection', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const leaver = new AbortController();
    const [first, second] = [acquire(bench, anna, server, leaver.signal), acquire(bench)];
    await settled();
    leaver.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    expect(bench.dials[0]?.signal.aborted).toBe(false);
    bench.dials[0]?.succeed();
    expect((await second).inFlight).toBe(1);
  });

  it('keeps a connection that nobody waits for any more, for the next', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const leaver = new AbortController();
    const only = acquire(bench, anna, server, leaver.signal);
    await settled();
    leaver.abort(new Error('left'));
    await expect(only).rejects.toThrow('left');
    bench.dials[0]?.succeed();
    await settled();
    expect((await acquire(bench)).connection).toBe(bench.connections[0]);
  });

  it("ends a dial at the server's connect timeout", async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const slow = acquire(bench, anna, aServer({ connectTimeoutMs: 500 }));
    await settled();
    bench.clock.advance(500);
    await expect(slow).rejects.toMatchObject({ code: 'upstream_timeout' });
    expect(bench.dials[0]?.signal.aborted).toBe(true);
    expect(bench.pool.size).toBe(0);
  });

  it('closes a connection that comes when its time is over already', async () => {
    const bench = new PoolBench();
    [bench.dialsAtOnce, bench.isDeaf] = [false, true];
    const slow = acquire(bench, anna, aServer({ connectTimeoutMs: 500 }));
    await settled();
    bench.clock.advance(500);
    const late = bench.dials[0]?.succeed();
    await expect(slow).rejects.toMatchObject({ code: 'upstream_timeout' });
    expect(late?.closes).toBe(1);
  });

  it('says so to those who hear of openings, once for each connection', async () => {
    const bench = new PoolBench();
    const heard: Lease[] = [];
    bench.pool.onOpen((lease) => heard.push(lease));
    const lease = await acquire(bench);
    await acquire(bench);
    expect(heard).toEqual([lease]);
  });
});

describe('who shares a connection', () => {
  const others: readonly (readonly [string, () => Promise<readonly [PoolBench, Lease, Lease]>])[] = [
    ['two people with equal keys', async () => pair(anna, keyOf('ben'))],
    ['two versions of one key', async () => pair(anna, keyOf('anna', '2'))],
    ['people whose ids differ in case only', async () => pair(anna, keyOf('Anna'))],
    ['two servers', async () => pair(anna, anna, server, aServer({}, { name: 'other' }))],
    [
      'two tenants',
      async () => pair(NO_CREDENTIAL, NO_CREDENTIAL, server, aServer({}, { tenantId: aTenantId('umbrella') })),
    ],
    [
      'two revisions of one server',
      async () => pair(NO_CREDENTIAL, NO_CREDENTIAL, server, { ...server, revision: '2' }),
    ],
  ];

  async function pair(
    a: typeof anna,
    b: typeof anna,
    serverA = server,
    serverB = server,
  ): Promise<readonly [PoolBench, Lease, Lease]> {
    const bench = new PoolBench();
    return [bench, await acquire(bench, a, serverA), await acquire(bench, b, serverB)];
  }

  it.each(others)('B217: never %s', async (_, open) => {
    const [bench, a, b] = await open();
    expect(a.connection).not.toBe(b.connection);
    expect(bench.dials).toHaveLength(2);
  });

  it('is everyone of the tenant where no credential is needed', async () => {
    const bench = new PoolBench();
    const [a, b] = [await acquire(bench, NO_CREDENTIAL), await acquire(bench, NO_CREDENTIAL)];
    expect(a).toBe(b);
  });
});

describe('idling', () => {
  const brief = aServer({ idleTimeoutMs: 5_000 });

  it('B012, B014: closes a connection when it has been idle for its time, and not before', async () => {
    const bench = new PoolBench();
    const lease = await acquire(bench, anna, brief);
    bench.clock.advance(60_000);
    expect(bench.live).toBe(1);
    bench.pool.release(lease);
    bench.clock.advance(5_000);
    expect(bench.live).toBe(1);
    bench.clock.advance(1_000);
    expect(bench.live).toBe(0);
    expect(bench.connections[0]?.closes).toBe(1);
    expect(bench.pool.size).toBe(0);
  });

  it('B012: never closes one with a call in flight, however long it takes', async () => {
    const bench = new PoolBench();
    const [first, second] = await held(bench, 2, brief);
    bench.pool.release(first as Lease);
    bench.clock.advance(120_000);
    expect(bench.live).toBe(1);
    bench.pool.release(second as Lease);
    bench.clock.advance(6_000);
    expect(bench.live).toBe(0);
  });

  it('B014: counts anew from the end of the last call', async () => {
    const bench = new PoolBench();
    for (let n = 0; n < 5; n++) {
      const lease = await acquire(bench, anna, brief);
      bench.pool.release(lease);
      bench.clock.advance(4_000);
    }
    expect(bench.dials).toHaveLength(1);
    bench.clock.advance(2_000);
    expect(bench.live).toBe(0);
  });

  it('closes one that was opened and never used', async () => {
    const bench = new PoolBench();
    const lease = await acquire(bench, anna, brief);
    bench.pool.release(lease);
    bench.clock.advance(6_000);
    expect(bench.live).toBe(0);
    expect((await acquire(bench, anna, brief)).connection).not.toBe(lease.connection);
  });

  it('B268: leaves nothing behind', async () => {
    const bench = new PoolBench();
    for (let n = 0; n < 500; n++) bench.pool.release(await acquire(bench, keyOf(`p${n}`), brief));
    expect(bench.pool.size).toBe(500);
    bench.clock.advance(7_000);
    expect([bench.pool.size, bench.live, bench.pool.list(server.tenantId).length]).toEqual([0, 0, 0]);
  });
});
