import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientKey, StoredClient } from '../../src/credential/client-store.ts';
import { createClientStore } from '../../src/store/oauth-clients.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { aClientsBench, oauthServer } from '../credential/clients-bench.ts';
import { aRegistration } from '../credential/fake-authorization-servers.ts';
import { deferred } from '../support/deferred.ts';
import { eventually } from './eventually.ts';
import { addServer, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;
const acme = tenantId('acme');

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

const aStore = () => createClientStore(nodes.next());

let made = 0;
const aKey = (over: Partial<ClientKey> = {}): ClientKey => ({
  tenantId: acme,
  serverId: `s${++made}` as ClientKey['serverId'],
  issuer: 'https://as.example',
  ...over,
});

const aClient = (clientId: string, over: Partial<StoredClient> = {}): StoredClient => ({
  clientId,
  redirectUri: 'https://px.test/oauth/callback/c',
  method: 'client_secret_basic',
  sealed: randomBytes(40),
  secretExpiresAt: NOW + 3_600_000,
  isOver: false,
  ...over,
});

async function keep(key: ClientKey, client: StoredClient): Promise<void> {
  await aStore().acquire(key, 'keeper', 60_000);
  await aStore().release(key, 'keeper', client);
}

describe('a registered client', () => {
  it('comes out as it went in, under exactly its tenant, server and issuer', async () => {
    const key = aKey();
    for (const client of [
      aClient('secret'),
      aClient('post', { method: 'client_secret_post', secretExpiresAt: undefined }),
      aClient('public', { method: 'none', sealed: undefined, secretExpiresAt: undefined }),
    ]) {
      await keep(key, client);
      expect(await aStore().find(key)).toEqual(client);
    }
    for (const other of [{ ...key, tenantId: tenantId('beta') }, { ...key, issuer: `${key.issuer}/` }, aKey()])
      expect(await aStore().find(other)).toBeUndefined();
  });

  it('is not there while the first registration is under way, nor when it came to nothing', async () => {
    const key = aKey();
    await aStore().acquire(key, 'h', 60_000);
    expect(await aStore().find(key)).toBeUndefined();
    await aStore().release(key, 'h', undefined);
    expect(await aStore().find(key)).toBeUndefined();
    expect(await aStore().acquire(key, 'i', 60_000)).toBe(true);
  });

  it('stays the one that it is while another is being registered, and when that comes to nothing', async () => {
    const key = aKey();
    await keep(key, aClient('one'));
    await aStore().acquire(key, 'h', 60_000);
    expect((await aStore().find(key))?.clientId).toBe('one');
    await aStore().release(key, 'h', undefined);
    expect((await aStore().find(key))?.clientId).toBe('one');
  });

  it('is over for twenty who found it refused, only under its own id, and until another is made (B207, B211)', async () => {
    const key = aKey();
    await keep(key, aClient('one'));
    expect(await aStore().forget(key, 'ONE')).toBe(false);
    const found = await Promise.all(Array.from({ length: 20 }, () => aStore().forget(key, 'one')));
    expect(found).toEqual(Array.from({ length: 20 }, () => true));
    expect(await aStore().find(key)).toMatchObject({ clientId: 'one', isOver: true });
    await keep(key, aClient('two'));
    expect(await aStore().forget(key, 'one')).toBe(false);
    expect(await aStore().find(key)).toMatchObject({ clientId: 'two', isOver: false });
  });

  it('is refused when this version does not know its kind', async () => {
    const key = aKey();
    await keep(key, aClient('one'));
    await nodes.admin.query(`UPDATE oauth_clients SET method = 'future' WHERE server_id = $1`, [key.serverId]);
    await expect(aStore().find(key)).rejects.toMatchObject({ code: 'internal' });
  });

  it('goes with its server (B170)', async () => {
    const serverId = await addServer(nodes.next(), acme, 'leaves');
    await keep(aKey({ serverId }), aClient('one'));
    await createServerStore(nodes.next()).remove(acme, 'leaves');
    expect(await aStore().find(aKey({ serverId }))).toBeUndefined();
  });
});

describe('the lease on a registration', () => {
  it('is given to one of twenty who ask at once, and again to one when it ran out', async () => {
    const key = aKey();
    for (const _round of [1, 2]) {
      const given = await Promise.all(Array.from({ length: 20 }, (_, n) => aStore().acquire(key, `h${n}`, 20_000)));
      expect(given.filter(Boolean)).toHaveLength(1);
      expect(await aStore().acquire(key, 'early', 20_000)).toBe(false);
      // As if it had been taken so much earlier, by the database's clock.
      const text = `UPDATE oauth_clients SET until = until - interval '20 seconds' WHERE server_id = $1`;
      await nodes.admin.query(text, [key.serverId]);
    }
  });

  it('given back by one who had lost it changes nothing', async () => {
    const key = aKey();
    await aStore().acquire(key, 'first', 0);
    await aStore().acquire(key, 'second', 20_000);
    await aStore().release(key, 'first', aClient('late'));
    expect(await aStore().find(key)).toBeUndefined();
    expect(await aStore().acquire(key, 'third', 60_000)).toBe(false);
    await aStore().release(key, 'second', aClient('good'));
    expect((await aStore().find(key))?.clientId).toBe('good');
  });
});

describe('registrations of two nodes', () => {
  it('are one request, however many sign in at the same time (B151, B211)', async () => {
    const bench = aClientsBench(aStore);
    const other = bench.node();
    const answer = deferred();
    bench.as.onRegister = async (nth) => (await answer.promise, aRegistration(nth));
    const asking = Promise.all(
      [bench.clients, other].flatMap((node) => Array.from({ length: 20 }, () => bench.signIn(oauthServer(), {}, node))),
    );
    await eventually('the registration', () => bench.as.registrations.length > 0);
    answer.resolve();
    let clients: Awaited<typeof asking> | undefined;
    asking.then(
      (all) => (clients = all),
      () => undefined,
    );
    await eventually('all the answers', () => (bench.clock.advance(250), clients));
    expect(new Set((await asking).map(({ clientId }) => clientId))).toEqual(new Set(['client-1']));
    expect(bench.as.registrations).toHaveLength(1);
    const rows = await nodes.admin.query<{ sealed: Buffer }>(
      `SELECT sealed FROM oauth_clients WHERE server_id = 'id-of-notes'`,
    );
    expect(rows.map(({ sealed }) => sealed.includes('client-secret'))).toEqual([false]);
  });
});
