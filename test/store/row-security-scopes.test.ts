// T21: what a transaction may see, and what is left of it for the next one on the same connection.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { openDatabase, type Scoped } from '../../src/store/database.ts';
import { toServerId } from '../../src/store/ids.ts';
import { namedBy, provenBy, type Scope } from '../../src/store/scope.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createCountingProxy } from './counting-proxy.ts';
import { fillTenant } from './fill-tenant.ts';
import { type OpenStore, openStore, tenantId } from './open-store.ts';
import { TENANT_TABLES } from './tenant-tables.ts';

const acme = tenantId('acme');
const beta = tenantId('beta');
const SETTINGS = ['app.tenant', 'app.proof', 'app.issuer', 'app.scope'];

let store: OpenStore;
beforeAll(async () => {
  store = await openStore(1);
  for (const id of ['acme', 'beta']) await fillTenant(store, id);
});
afterAll(() => store.close());

const hash = (what: string): Buffer => Buffer.from(what);

/** By table, whose rows an unfiltered query finds; tables where it finds none are left out. */
async function seenBy(scope: Scope): Promise<Readonly<Record<string, readonly string[]>>> {
  const seen: [string, string[]][] = [];
  for (const { name, tenant } of TENANT_TABLES) {
    const rows = await store.database.within(scope).query<{ id: string }>(`SELECT ${tenant} AS id FROM ${name}`);
    if (rows.length > 0) seen.push([name, rows.map(({ id }) => id).sort()]);
  }
  return Object.fromEntries(seen);
}

describe('a transaction', () => {
  it('of a tenant sees all that is theirs, whatever a query forgot to say', async () => {
    expect(await seenBy({ kind: 'tenant', tenantId: acme })).toEqual(
      Object.fromEntries(TENANT_TABLES.map(({ name }) => [name, ['acme']])),
    );
  });

  it.each([
    ['a key', 'agent_keys', provenBy(hash('hash of beta'))],
    ['a link', 'tickets', provenBy(hash('ticket of beta'))],
    ['a state', 'sign_in_attempts', provenBy(hash('state of beta'))],
    ['a cookie', 'browser_sessions', provenBy(hash('session of beta'))],
    ['a code', 'browser_sign_ins', provenBy(hash('code of beta'))],
    ['the id of a sign-in', 'browser_sign_ins', namedBy('sign-in of beta')],
  ])('that was shown %s sees its one row, and no other anywhere', async (_what, table, scope) => {
    expect(await seenBy(scope)).toEqual({ [table]: ['beta'] });
  });

  it('that was shown anything else sees nothing', async () => {
    for (const scope of [
      provenBy(randomBytes(32)),
      provenBy(Buffer.alloc(0)),
      namedBy(''),
      namedBy('sign-in of nobody'),
    ])
      expect(await seenBy(scope)).toEqual({});
    // An id is text that anybody may send: it is never taken for a hash.
    expect(await seenBy(namedBy(hash('hash of beta').toString('hex')))).toEqual({});
  });

  it('that is about an issuer sees who registered that one', async () => {
    expect(await seenBy({ kind: 'issuer', issuer: 'https://id.example' })).toEqual({ issuers: ['acme', 'beta'] });
    for (const issuer of ['https://id.example/', 'https://ID.example', ''])
      expect(await seenBy({ kind: 'issuer', issuer })).toEqual({});
  });

  it('of the operator sees the list of tenants, and of the service no tenant at all', async () => {
    expect(await seenBy({ kind: 'operator' })).toEqual({ tenants: ['acme', 'beta'] });
    expect(await seenBy({ kind: 'service' })).toEqual({});
  });

  it('of a tenant cannot reach the keys of the installation', async () => {
    const text = `INSERT INTO service_keys (id, public_jwk, sealed, master_key_id, created_at) VALUES ('k', '{}', '', 'm', now())`;
    await expect(store.database.forTenant(acme).query(text)).rejects.toMatchObject({ code: '42501' });
    await store.database.within({ kind: 'service' }).query(text);
    expect(await store.database.forTenant(acme).query('SELECT FROM service_keys')).toEqual([]);
    expect(await store.database.forTenant(acme).query(`DELETE FROM servers WHERE name = 'none'`)).toEqual([]);
    expect(await store.database.within({ kind: 'service' }).query('SELECT FROM service_keys')).toHaveLength(1);
  });

  it.each([
    ['shown a secret', provenBy(hash('hash of acme'))],
    ['about an issuer', { kind: 'issuer', issuer: 'https://id.example' }],
    ['of the operator', { kind: 'operator' }],
  ] as const)('%s writes nothing', async (_what, scope) => {
    for (const text of [`DELETE FROM agent_keys`, `UPDATE tenants SET name = 'mine'`, 'DELETE FROM issuers'])
      await expect(store.database.within(scope).query(text)).rejects.toMatchObject({ code: '25006' });
  });
});

describe('the one connection of a pool', () => {
  const settings = (rows: Scoped): Promise<readonly unknown[]> =>
    rows.query(
      `SELECT ${SETTINGS.map((name, n) => `NULLIF(current_setting('${name}', true), '') AS s${n}`).join(', ')}, current_user AS role`,
    );
  const ONLY_BETA = [{ s0: 'beta', s1: null, s2: null, s3: null, role: 'keybearer_app' }];

  it.each([
    ['a statement', () => store.database.forTenant(acme).query('SELECT FROM servers')],
    ['a statement that failed', () => store.database.forTenant(acme).query('SELECT 1 / 0')],
    ['a statement of a secret', () => store.database.within(provenBy(hash('hash of acme'))).query('SELECT 1')],
    ['a list of tenants', () => store.database.within({ kind: 'operator' }).query('SELECT 1')],
    ['a transaction', () => store.database.forTenant(acme).transaction((rows) => rows.query('SELECT FROM servers'))],
    [
      'a transaction that changed its mind',
      () => store.database.forTenant(acme).transaction(() => Promise.reject(new Error('no'))),
    ],
    [
      'a setting that somebody hid in a statement',
      () => store.database.forTenant(acme).query(`SELECT set_config('app.scope', 'operator', true)`),
    ],
    [
      'a parameter that cannot be sent',
      () => store.database.forTenant(acme).query('SELECT $1', [{ toPostgres: boom }]),
    ],
  ])('has nothing left of another tenant after %s', async (_what, before) => {
    await before().catch(() => undefined);
    expect(await settings(store.database.forTenant(beta))).toEqual(ONLY_BETA);
    expect(await store.database.forTenant(beta).query('SELECT tenant_id FROM credentials')).toEqual([
      { tenant_id: 'beta' },
    ]);
  });

  it('is not in a transaction between two, and has no tenant', async () => {
    await store.database.forTenant(acme).query('SELECT 1');
    const found = await store.admin.query(
      `SELECT state FROM pg_stat_activity WHERE application_name = 'keybearer' AND datname = current_database()`,
    );
    expect(found).toEqual([{ state: 'idle' }]);
  });

  it('goes back to the service’s role when a statement resets it', async () => {
    await store.database.forTenant(acme).query('RESET ROLE');
    expect(await settings(store.database.forTenant(beta))).toEqual(ONLY_BETA);
    await store.database.forTenant(acme).query('RESET ALL');
    expect(await settings(store.database.forTenant(beta))).toEqual(ONLY_BETA);
  });

  it('serves many tenants at once, each with their own', async () => {
    const both = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        store.database
          .forTenant(n % 2 === 0 ? acme : beta)
          .query<{ tenant_id: string }>('SELECT tenant_id FROM servers'),
      ),
    );
    expect(both.flat().map(({ tenant_id }) => tenant_id)).toEqual(
      Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 'acme' : 'beta')),
    );
  });
});

const boom = (): never => {
  throw new Error('not this one');
};

describe('what a scope costs', () => {
  it('is no round trip for a statement, and one at the end of a transaction', async () => {
    const proxy = await createCountingProxy(store.url);
    const deps = { maxConnections: 1, clock: new FakeClock(), logger: createLogger('silent') };
    const database = openDatabase({ url: proxy.url, ...deps });
    await database.ping();
    proxy.turns();
    // The least of five: an answer that comes in pieces may be taken for two.
    const turnsOf = async (work: () => Promise<unknown>): Promise<number> => {
      const counts: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        await work();
        counts.push(proxy.turns());
      }
      return Math.min(...counts);
    };
    const credential = { serverId: toServerId('s'), owner: 'p:ada', kind: 'secret', binding: 'b' } as const;
    const put = (): Promise<unknown> =>
      createCredentialStore(database).put(
        { ...credential, tenantId: acme, sealed: Buffer.from('s'), details: {} },
        1_700_000_000_000,
      );
    expect(await turnsOf(() => database.ping())).toBe(1);
    expect(await turnsOf(put)).toBe(1);
    const two = (): Promise<unknown> =>
      database.forTenant(acme).transaction(async (rows) => {
        await rows.query('SELECT 1');
        await rows.query('SELECT 2');
      });
    expect(await turnsOf(two)).toBe(3);
    await database.close();
    await proxy.close();
  });
});
