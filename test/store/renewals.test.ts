import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialKey } from '../../src/credential/credential-store.ts';
import { FRESH } from '../../src/credential/renewal-failure.ts';
import type { GrantKey } from '../../src/credential/renewal-store.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { createRenewalStore } from '../../src/store/renewals.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { addServer, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;
const acme = tenantId('acme');

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

let made = 0;
const aKey = (over: Partial<GrantKey> = {}): GrantKey => ({
  tenantId: acme,
  serverId: `s${++made}` as GrantKey['serverId'],
  owner: 'p:ada',
  ...over,
});

/** As if it had been taken so much earlier. */
const timePasses = (key: GrantKey, seconds: number): Promise<unknown> =>
  nodes.admin.query("UPDATE renewals SET until = until - $2 * interval '1 second' WHERE server_id = $1", [
    key.serverId,
    seconds,
  ]);

describe('a lease on a grant', () => {
  it('is given to one of twenty who ask at once, on two nodes (B182)', async () => {
    const key = aKey();
    const given = await Promise.all(
      Array.from({ length: 20 }, (_, n) => createRenewalStore(nodes.next()).acquire(key, `h${n}`, 60_000)),
    );
    expect(given.filter((lease) => lease !== undefined)).toEqual([{ state: FRESH, renewedAt: undefined }]);
  });

  it('passes over when it runs out, to one of twenty', async () => {
    const key = aKey();
    const [mine, theirs] = nodes.databases.map((database) => createRenewalStore(database));
    expect(await mine?.acquire(key, 'first', 30_000)).toBeDefined();
    expect(await theirs?.acquire(key, 'second', 30_000)).toBeUndefined();
    await timePasses(key, 20);
    expect(await theirs?.acquire(key, 'second', 30_000)).toBeUndefined();
    await timePasses(key, 10);
    const given = await Promise.all(
      Array.from({ length: 20 }, (_, n) => createRenewalStore(nodes.next()).acquire(key, `h${n}`, 30_000)),
    );
    expect(given.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('runs by the clock that all nodes share, so that a node whose own is wrong takes nothing that is held', async () => {
    const key = aKey();
    await createRenewalStore(nodes.next()).acquire(key, 'first', 30_000);
    const [row] = await nodes.admin.query<{ left: number }>(
      'SELECT extract(epoch FROM until - clock_timestamp())::float AS left FROM renewals WHERE server_id = $1',
      [key.serverId],
    );
    expect(row?.left).toBeGreaterThan(0);
    expect(row?.left).toBeLessThanOrEqual(30);
  });

  it('is free as soon as it was given back, and tells the next one how it went', async () => {
    const key = aKey();
    const store = createRenewalStore(nodes.next());
    const state = { version: '9007199254740993', spent: true, refusals: 2, failures: 3, retryAt: NOW + 5_000 };
    await store.acquire(key, 'first', 30_000);
    await store.release(key, 'first', { ...state, renewedAt: NOW });
    expect(await store.acquire(key, 'second', 30_000)).toEqual({ state, renewedAt: NOW });
    // What is not said of the last renewal that worked stays.
    await store.release(key, 'second', { ...FRESH, renewedAt: undefined });
    expect(await store.acquire(key, 'third', 30_000)).toEqual({ state: FRESH, renewedAt: NOW });
  });

  it('given back by one who had lost it changes nothing', async () => {
    const key = aKey();
    const store = createRenewalStore(nodes.next());
    await store.acquire(key, 'first', 0);
    await store.acquire(key, 'second', 30_000);
    await store.release(key, 'first', { ...FRESH, version: '1', spent: true, renewedAt: NOW + 11 });
    expect(await store.acquire(key, 'third', 30_000)).toBeUndefined();
    await store.release(key, 'second', { ...FRESH, renewedAt: undefined });
    expect(await store.acquire(key, 'third', 30_000)).toEqual({ state: FRESH, renewedAt: undefined });
  });

  it('is of one tenant, server and owner', async () => {
    const key = aKey();
    const store = createRenewalStore(nodes.next());
    const others = [{ ...key, tenantId: tenantId('beta') }, { ...key, owner: 'p:ADA' }, { ...key, owner: '' }, aKey()];
    for (const one of [key, ...others]) expect(await store.acquire(one, 'h', 60_000)).toBeDefined();
    for (const one of [key, ...others]) expect(await store.acquire(one, 'i', 60_000)).toBeUndefined();
  });

  it('goes with its credential: who held it gives nothing back, and writes nothing', async () => {
    const key = aKey({ serverId: await addServer(nodes.next(), acme, 'disconnects') });
    const [store, credentials] = [createRenewalStore(nodes.next()), createCredentialStore(nodes.next())];
    const grant = { ...key, kind: 'grant', binding: 'b', sealed: Buffer.of(1), details: {} } as const;
    const version = await credentials.put(grant, NOW);
    const other = { ...key, owner: 'p:bob' };
    for (const one of [key, other]) await store.acquire(one, 'first', 60_000);
    expect(await credentials.replace(grant, version, NOW), 'a renewal keeps it').toBeDefined();
    expect(await store.acquire(key, 'second', 60_000)).toBeUndefined();
    await credentials.remove(acme, key.serverId, key.owner);
    expect(await credentials.replace(grant, version, NOW)).toBeUndefined();
    expect(await store.acquire(key, 'second', 60_000)).toEqual({ state: FRESH, renewedAt: undefined });
    await store.release(key, 'first', { ...FRESH, version, spent: true, renewedAt: NOW });
    expect(await store.acquire(key, 'third', 60_000)).toBeUndefined();
    expect(await store.acquire(other, 'second', 60_000), 'not another’s').toBeUndefined();
  });

  it('tells which versions are over, each of its own key', async () => {
    const store = createRenewalStore(nodes.next());
    const [over, fresh, older] = [aKey(), aKey(), aKey()];
    for (const [key, version, spent] of [
      [over, '7', true],
      [fresh, '8', false],
      [older, '9', true],
    ] as const) {
      await store.acquire(key, 'h', 60_000);
      await store.release(key, 'h', { ...FRESH, version, spent, renewedAt: undefined });
    }
    const asked = [
      { ...over, version: '7' },
      { ...fresh, version: '8' },
      { ...older, version: '10' },
      { ...over, owner: 'p:ADA', version: '7' },
      { ...aKey(), version: '7' },
    ];
    expect(await store.spentAmong(acme, asked)).toEqual(new Set([credentialKey(over)]));
    expect(await store.spentAmong(acme, [])).toEqual(new Set());
    await store.acquire(over, 'h', 60_000);
    expect(await store.spentAmong(acme, asked), 'while somebody looks again').toEqual(new Set([credentialKey(over)]));
  });

  it('goes with its server', async () => {
    const serverId = await addServer(nodes.next(), acme, 'leaves');
    const store = createRenewalStore(nodes.next());
    await store.acquire(aKey({ serverId }), 'h', 60_000);
    await createServerStore(nodes.next()).remove(acme, 'leaves');
    const text = 'SELECT owner FROM renewals WHERE server_id = $1';
    expect(await nodes.admin.query(text, [serverId])).toEqual([]);
  });
});
