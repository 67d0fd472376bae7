import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Change } from '../../src/shared/changes.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { createAgentKeyStore } from '../../src/store/agent-keys.ts';
import { createCatalogStore } from '../../src/store/catalogs.ts';
import { openChangeFeed, retryDelayMs } from '../../src/store/change-feed.ts';
import { createIssuerStore } from '../../src/store/issuers.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createCuttableProxy } from './cuttable-proxy.ts';
import { eventually } from './eventually.ts';
import { addCatalog, addCredential, addServer, addTenant, type OpenStore, openStore, tenantId } from './open-store.ts';

const logger = createLogger('silent');
const acme = tenantId('acme');

let store: OpenStore;
beforeAll(async () => {
  store = await openStore();
  await addTenant(store.database, 'acme');
});
afterAll(() => store.close());

interface Heard {
  readonly changes: Change[];
  readonly clock: FakeClock;
  /** What was heard since the last time, up to and without a mark of our own. */
  sinceLast(): Promise<readonly Change[]>;
  close(): Promise<void>;
}

async function hear(url = store.url): Promise<Heard> {
  const clock = new FakeClock();
  const feed = await openChangeFeed(url, clock, logger);
  const changes: Change[] = [];
  feed.subscribe((change) => changes.push(change));
  return {
    changes,
    clock,
    async sinceLast() {
      const mark: Change = { kind: 'issuers', tenantId: tenantId(`mark-${changes.length}`) };
      await store.admin.query(`SELECT pg_notify('keybearer', $1)`, [JSON.stringify(mark)]);
      // README.md promises a second.
      const end = await eventually(
        'the mark',
        () => nonNegative(changes.findIndex((change) => 'tenantId' in change && change.tenantId === mark.tenantId)),
        1_000,
      );
      return changes.splice(0, end + 1).slice(0, -1);
    },
    close: () => feed.close(),
  };
}

const nonNegative = (index: number): number | undefined => (index < 0 ? undefined : index);

const listeners = async (): Promise<readonly number[]> =>
  (
    await store.admin.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'keybearer listen'`,
    )
  ).map(({ pid }) => pid);

describe('the change feed', () => {
  it('tells each change in the order of commit, in the shape that everybody knows', async () => {
    const heard = await hear();
    const { database, clock } = store;
    const now = clock.now();
    await createTenantStore(database).update(acme, { name: 'Acme 2' });
    const serverId = await addServer(database, acme, 'linear');
    await store.admin.query(`UPDATE servers SET enabled = false WHERE name = 'linear'`);
    const issuer = {
      tenantId: acme,
      issuer: 'https://id.example',
      jwksUri: 'https://id.example/jwks',
      jwks: undefined,
      audience: 'kb',
    };
    await createIssuerStore(database).put({ ...issuer, principalClaim: 'sub', tenantClaim: undefined, algorithms: [] });
    const key = {
      tenantId: acme,
      id: 'k1',
      name: 'k',
      keyHash: Buffer.from('h'),
      principal: undefined,
      mayActFor: '*',
    } as const;
    await createAgentKeyStore(database).create({ ...key, scopes: [], expiresAt: undefined, createdAt: now });
    await createAgentKeyStore(database).remove(acme, 'k1');
    await addCatalog(database, acme, serverId, now);
    await addCredential(database, acme, serverId, now);
    await createServerStore(database).remove(acme, 'linear');
    expect(await heard.sinceLast()).toEqual([
      { kind: 'tenants', tenantId: acme },
      { kind: 'servers', tenantId: acme, serverId },
      { kind: 'servers', tenantId: acme, serverId },
      { kind: 'issuers', tenantId: acme },
      { kind: 'agent_keys', tenantId: acme },
      { kind: 'agent_keys', tenantId: acme },
      { kind: 'catalogs', tenantId: acme, serverId, owner: '' },
      { kind: 'credentials', tenantId: acme, serverId, owner: 'p:ada' },
      { kind: 'catalogs', tenantId: acme, serverId, owner: '' },
      { kind: 'credentials', tenantId: acme, serverId, owner: 'p:ada' },
      { kind: 'servers', tenantId: acme, serverId },
    ]);
    await heard.close();
  });

  it('is silent when nothing changed, or the same list was found again', async () => {
    const { database } = store;
    const serverId = await addServer(database, acme, 'quiet');
    const catalog = { tenantId: acme, serverId, owner: '', toolsJson: '[]', binding: 'b', foundAt: 1_700_000_000_000 };
    await createCatalogStore(database).put(catalog);
    const heard = await hear();
    await addServer(database, acme, 'quiet');
    await createTenantStore(database).update(acme, { limits: {} });
    await createCatalogStore(database).put({ ...catalog, foundAt: catalog.foundAt + 1 });
    expect(await heard.sinceLast()).toEqual([]);
    await createCatalogStore(database).put({ ...catalog, toolsJson: '[{}]' });
    expect(await heard.sinceLast()).toEqual([{ kind: 'catalogs', tenantId: acme, serverId, owner: '' }]);
    await heard.close();
  });

  it('says "read everything again" when a change is too long for a notice', async () => {
    const serverId = await addServer(store.database, acme, 'long');
    const heard = await hear();
    await addCredential(store.database, acme, serverId, 1_700_000_000_000, `p:${'x'.repeat(9_000)}`);
    expect(await heard.sinceLast()).toEqual([{ kind: 'resync' }]);
    await heard.close();
  });

  it('ignores notices that are no change', async () => {
    const heard = await hear();
    const payloads = [
      '',
      'no JSON',
      'null',
      '[]',
      '{}',
      '{"kind":"servers","tenantId":"acme"}',
      '{"kind":"tenants","tenantId":"../x"}',
    ];
    payloads.push(
      '{"kind":"credentials","tenantId":"acme","serverId":"s"}',
      '{"kind":"other","tenantId":"acme","serverId":"s","owner":""}',
    );
    for (const payload of payloads) await store.admin.query(`SELECT pg_notify('keybearer', $1)`, [payload]);
    expect(await heard.sinceLast()).toEqual([]);
    await heard.close();
  });

  it('goes on telling the others when one listener fails, and nobody who has left', async () => {
    const feed = await openChangeFeed(store.url, new FakeClock(), logger);
    const seen: string[] = [];
    feed.subscribe(() => {
      throw new Error('mine to worry about');
    });
    const leave = feed.subscribe(() => seen.push('left'));
    feed.subscribe(() => seen.push('stayed'));
    leave();
    await store.admin.query(`SELECT pg_notify('keybearer', '{"kind":"resync"}')`);
    await eventually('the notice', () => seen.length > 0);
    expect(seen).toEqual(['stayed']);
    await feed.close();
  });

  it('says "read everything again" each minute, in case a notice was lost', async () => {
    const heard = await hear();
    const quietTimers = heard.clock.pending;
    for (const seconds of [20, 40]) {
      heard.clock.advance(20_000);
      await eventually(`the answer to the probe after ${seconds} s`, () => heard.clock.pending === quietTimers);
    }
    heard.clock.advance(19_999);
    expect(heard.changes).toEqual([]);
    heard.clock.advance(1);
    expect(heard.changes).toEqual([{ kind: 'resync' }]);
    await heard.close();
    expect(heard.clock.pending).toBe(0);
  });

  it('notices that the server ended its connection, listens again and has everything read again', async () => {
    const heard = await hear();
    const [pid] = await listeners();
    const quietTimers = heard.clock.pending;
    await store.admin.query('SELECT pg_terminate_backend($1)', [pid]);
    // The probe has stopped and the retry waits in its place.
    await eventually('the loss', async () => (await listeners()).length === 0);
    await eventually('a planned retry', () => {
      heard.clock.advance(500);
      return heard.changes.length > 0;
    });
    expect(heard.changes).toEqual([{ kind: 'resync' }]);
    heard.changes.length = 0;
    await createTenantStore(store.database).update(acme, { name: 'heard again' });
    expect(await heard.sinceLast()).toEqual([{ kind: 'tenants', tenantId: acme }]);
    expect(heard.clock.pending).toBe(quietTimers);
    await heard.close();
    expect(heard.clock.pending).toBe(0);
  });

  it('B259: notices a half-open connection by its silence', async () => {
    const proxy = await createCuttableProxy(store.url);
    const heard = await hear(proxy.url);
    proxy.cut();
    await createTenantStore(store.database).update(acme, { name: 'unheard' });
    heard.clock.advance(20_000); // the probe is sent
    heard.clock.advance(4_999);
    expect(proxy.connections).toBe(1);
    heard.clock.advance(1); // and not answered
    await eventually('a new connection', () => {
      heard.clock.advance(500);
      return heard.changes.length > 0;
    });
    expect(proxy.connections).toBe(2);
    expect(heard.changes[0]).toEqual({ kind: 'resync' });
    await heard.close();
    await proxy.close();
  });

  it('stops trying once it is closed', async () => {
    const proxy = await createCuttableProxy(store.url);
    const heard = await hear(proxy.url);
    await proxy.close();
    await eventually('the loss', () => heard.clock.pending === 2);
    await heard.close();
    expect(heard.clock.pending).toBe(0);
  });

  it('fails to open when nothing can be heard from the beginning', async () => {
    const proxy = await createCuttableProxy(store.url);
    await proxy.close();
    const clock = new FakeClock();
    await expect(openChangeFeed(proxy.url, clock, logger)).rejects.toThrow();
    expect(clock.pending).toBe(0);
  });

  it('waits longer after each failure, up to half a minute, and never in step with others', () => {
    expect([0, 1, 2, 5, 6, 50].map((failures) => retryDelayMs(failures, 1))).toEqual([
      500, 1_000, 2_000, 16_000, 30_000, 30_000,
    ]);
    expect(retryDelayMs(50, 0)).toBe(15_000);
  });
});
