import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/connection/lease.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { aServer, type FakeConnection, keyOf, NEVER, NO_CREDENTIAL, PoolBench, settled } from './support.ts';

const server = aServer();
const anna = keyOf('anna');

const acquire = (bench: PoolBench, credential = anna, of = server, signal = NEVER): Promise<Lease> => Promise.resolve(bench.pool.acquire(of, credential, signal));

async function held(bench: PoolBench, count: number, of = server): Promise<readonly Lease[]> {
  return Promise.all(Array.from({ length: count }, () => acquire(bench, anna, of)));
}

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
    expect((await all).every((one) => one.status === 'rejected' && (one.reason as Error).message === 'refused')).toBe(true);
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

  it('ends a dial at the server\'s connect timeout', async () => {
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
    ['two tenants', async () => pair(NO_CREDENTIAL, NO_CREDENTIAL, server, aServer({}, { tenantId: aTenantId('umbrella') }))],
    ['two revisions of one server', async () => pair(NO_CREDENTIAL, NO_CREDENTIAL, server, { ...server, revision: '2' })],
  ];

  async function pair(a: typeof anna, b: typeof anna, serverA = server, serverB = server): Promise<readonly [PoolBench, Lease, Lease]> {
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
    await expect(acquire(bench, keyOf('c'))).rejects.toMatchObject({ code: 'overloaded', data: { retryAfterMs: 1_000 } });
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

describe('a connection that ends', () => {
  it('by itself is forgotten, and the next call opens another', async () => {
    const bench = new PoolBench();
    const lease = await acquire(bench);
    (lease.connection as FakeConnection).die();
    expect(bench.pool.size).toBe(0);
    const next = await acquire(bench);
    expect(next.connection).not.toBe(lease.connection);
    bench.pool.release(lease);
    expect(next.inFlight).toBe(1);
    expect(bench.pool.size).toBe(1);
  });

  it('just when it was opened is reported as not having run anything', async () => {
    const bench = new PoolBench();
    bench.pool.onOpen((lease) => (lease.connection as FakeConnection).die());
    await expect(acquire(bench)).rejects.toMatchObject({ name: 'NotRunError', mayRetryNow: true });
  });

  it('B219, B221: retired while in use takes no new call and closes when its last call has ended', async () => {
    const bench = new PoolBench();
    const [first, second] = await held(bench, 2);
    bench.pool.retire(server.tenantId, ({ id }) => id === server.id);
    const next = await acquire(bench);
    expect(next.connection).not.toBe(first?.connection);
    bench.pool.release(first as Lease);
    expect(bench.connections[0]?.isClosed).toBe(false);
    expect(bench.pool.size).toBe(2);
    bench.pool.release(second as Lease);
    expect(bench.connections[0]?.closes).toBe(1);
    expect(bench.pool.size).toBe(1);
  });

  it('retired while idle closes at once; others stay', async () => {
    const bench = new PoolBench();
    bench.pool.release(await acquire(bench));
    bench.pool.release(await acquire(bench, keyOf('ben')));
    bench.pool.retire(server.tenantId, (_, credential) => credential.kind === 'static' && credential.owner.kind === 'principal' && credential.owner.principalId === 'anna');
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it('retired in one tenant leaves the other tenant\'s alone', async () => {
    const bench = new PoolBench();
    bench.pool.release(await acquire(bench));
    bench.pool.retire(aTenantId('umbrella'), () => true);
    expect(bench.live).toBe(1);
  });

  it('discarded after a refusal is not taken again, and two who discard it close it once', async () => {
    const bench = new PoolBench();
    const [first, second] = await held(bench, 2);
    for (const lease of [first, second]) {
      bench.pool.discard(lease as Lease);
      bench.pool.release(lease as Lease);
    }
    expect(bench.connections[0]?.closes).toBe(1);
    await acquire(bench);
    expect(bench.dials).toHaveLength(2);
  });
});

describe('ending while it is being opened', () => {
  it('B280: a close leaves nothing, and whoever waits is told', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const waiting = acquire(bench);
    await settled();
    const closing = bench.pool.close();
    await expect(waiting).rejects.toMatchObject({ code: 'stopping' });
    await closing;
    expect([bench.pool.size, bench.live, bench.clock.pending]).toEqual([0, 0, 0]);
    await expect(acquire(bench)).rejects.toMatchObject({ code: 'stopping' });
  });

  it('B280: a close does not leave a connection whose dial did not listen', async () => {
    const bench = new PoolBench();
    [bench.dialsAtOnce, bench.isDeaf] = [false, true];
    const waiting = acquire(bench);
    await settled();
    await bench.pool.close();
    const late = bench.dials[0]?.succeed();
    await expect(waiting).rejects.toMatchObject({ code: 'stopping' });
    expect(late?.closes).toBe(1);
    expect(bench.pool.size).toBe(0);
  });

  it('B280: a server that is removed or edited leaves nothing, and other dials go on', async () => {
    const bench = new PoolBench();
    bench.dialsAtOnce = false;
    const other = aServer({}, { name: 'other' });
    const foreign = aServer({}, { tenantId: aTenantId('umbrella') });
    const [gone, stays, elsewhere] = [acquire(bench), acquire(bench, anna, other), acquire(bench, anna, foreign)];
    await settled();
    bench.pool.endDials(server.tenantId, ({ id }) => id === server.id);
    await expect(gone).rejects.toMatchObject({ code: 'upstream_unavailable', mayRetryNow: false });
    for (const dial of bench.dials) if (!dial.signal.aborted) dial.succeed();
    await Promise.all([stays, elsewhere]);
    expect(bench.live).toBe(2);
  });

  it('closes what is open, also with a call in flight', async () => {
    const bench = new PoolBench();
    await acquire(bench);
    bench.pool.release(await acquire(bench, keyOf('ben')));
    await bench.pool.close();
    expect(bench.connections.map(({ closes }) => closes)).toEqual([1, 1]);
    expect(bench.clock.pending).toBe(0);
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
        Promise.resolve(bench.pool.acquire(narrow, anna, leaver.signal)).then((lease) => inside.push(lease), () => undefined);
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
    const waiting = Promise.allSettled(Array.from({ length: 1_000 }, () => acquire(bench, anna, narrow, controller.signal)));
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
