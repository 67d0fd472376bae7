import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { type Database, openDatabase, type Scoped } from '../../src/store/database.ts';
import { type AdminSession, openAdminSession } from '../support/admin-session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createCuttableProxy } from './cuttable-proxy.ts';
import { eventually } from './eventually.ts';
import { tenantId } from './open-store.ts';

const logger = createLogger('silent');
let own: TestDatabase;
beforeAll(async () => {
  own = await createTestDatabase();
});
afterAll(() => own.close());

function open(clock = new FakeClock(), url = own.url, maxConnections = 1): Database {
  return openDatabase({ url, maxConnections, clock, logger });
}

/** As one tenant; statements of these tests are about no rows, unless they say so. */
const rowsOf = (database: Database, tenant = 'acme'): Scoped => database.forTenant(tenantId(tenant));

const backend = async (database: Database): Promise<number> =>
  (await rowsOf(database).query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid ?? 0;

async function findQuery(admin: AdminSession, text: string): Promise<number | undefined> {
  const sql = 'SELECT pid FROM pg_stat_activity WHERE query = $1 AND datname = current_database()';
  return (await admin.query<{ pid: number }>(sql, [text]))[0]?.pid;
}

/** Not done after a round trip through a real socket. */
async function expectWaiting(work: Promise<unknown>): Promise<void> {
  let isDone = false;
  void work.then(() => {
    isDone = true;
  });
  const other = open();
  await backend(other);
  await other.close();
  expect(isDone).toBe(false);
}

describe('the database', () => {
  it('keeps all of a transaction or nothing, and goes on with the same connection', async () => {
    const database = open();
    const pid = await backend(database);
    const fails = rowsOf(database, 'half').transaction(async (transaction) => {
      await transaction.query(`INSERT INTO tenants (id, name) VALUES ('half', 'half')`);
      throw new Error('changed my mind');
    });
    await expect(fails).rejects.toThrow('changed my mind');
    expect(await rowsOf(database, 'half').query(`SELECT id FROM tenants WHERE id = 'half'`)).toEqual([]);
    await rowsOf(database, 'whole').transaction(async (transaction) => {
      await transaction.query(`INSERT INTO tenants (id, name) VALUES ('whole', 'whole')`);
    });
    expect(await rowsOf(database, 'whole').query(`SELECT id FROM tenants WHERE id = 'whole'`)).toHaveLength(1);
    expect(await backend(database)).toBe(pid);
    await database.close();
  });

  it('says that nothing was kept when a failed statement was passed over', async () => {
    const database = open();
    const pid = await backend(database);
    const passedOver = rowsOf(database, 'over').transaction(async (transaction) => {
      await transaction.query(`INSERT INTO tenants (id, name) VALUES ('over', 'over')`);
      await transaction.query('SELECT 1 / 0').catch(() => undefined);
      return 'kept';
    });
    await expect(passedOver).rejects.toThrow('the transaction was not committed: the server answered ROLLBACK');
    expect(await rowsOf(database, 'over').query(`SELECT id FROM tenants WHERE id = 'over'`)).toEqual([]);
    expect(await backend(database)).toBe(pid);
    await database.close();
  });

  it("does not lose a connection over a statement's own error", async () => {
    const database = open();
    const pid = await backend(database);
    await expect(rowsOf(database).query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
    expect(await backend(database)).toBe(pid);
    await database.close();
  });

  it('B258: outlives connections that the server ended, idle or in use', async () => {
    const [database, admin] = [open(), openAdminSession(own.url)];
    await admin.query('SELECT pg_terminate_backend($1)', [await backend(database)]);
    await eventually('recovery', () => backend(database).catch(() => undefined));
    // Expected before it is cut off: a rejection that nobody waits for yet would end the run.
    const refused = expect(rowsOf(database).query('SELECT pg_sleep(60)')).rejects.toMatchObject({ code: 'overloaded' });
    const pid = await eventually('the query', () => findQuery(admin, 'SELECT pg_sleep(60)'));
    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
    await refused;
    expect(await backend(database)).toBeGreaterThan(0);
    await Promise.all([database.close(), admin.end()]);
  });

  it('says "overloaded" while there is no server, without telling why', async () => {
    const proxy = await createCuttableProxy(own.url);
    await proxy.close();
    const database = open(new FakeClock(), proxy.url);
    const failure: unknown = await database.ping().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'overloaded', message: 'The database does not answer at the moment.' });
    await database.close();
  });

  it('B258: does not wait for ever to close while the network is gone', async () => {
    const proxy = await createCuttableProxy(own.url);
    const clock = new FakeClock();
    const database = open(clock, proxy.url, 2);
    const watcher = openAdminSession(own.url);
    const stuck = rowsOf(database)
      .query('SELECT pg_sleep(61)')
      .catch((error: unknown) => error);
    await eventually('the query', () => findQuery(watcher, 'SELECT pg_sleep(61)'));
    await backend(database);
    expect(proxy.connections).toBe(2); // one in use, one idle
    proxy.cut();
    const closed = database.close();
    expect(clock.pending).toBe(1);
    await expectWaiting(closed);
    clock.advance(5_000);
    await closed;
    expect(await stuck).toMatchObject({ code: 'overloaded' });
    expect(clock.pending).toBe(0);
    await Promise.all([proxy.close(), watcher.end()]);
  });

  it('leaves no timer behind when it closes well', async () => {
    const clock = new FakeClock();
    const database = open(clock);
    await backend(database);
    await database.close();
    expect(clock.pending).toBe(0);
  });
});
