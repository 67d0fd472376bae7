import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/connection/lease.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { acquire, anna, held, server } from './a-pool.ts';
import { aServer, type FakeConnection, keyOf, PoolBench, settled } from './support.ts';

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
    bench.pool.retire(
      server.tenantId,
      (_, credential) =>
        credential.kind === 'static' &&
        credential.owner.kind === 'principal' &&
        credential.owner.principalId === 'anna',
    );
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("retired in one tenant leaves the other tenant's alone", async () => {
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
