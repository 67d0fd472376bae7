import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from './eventually.ts';

const logger = createLogger('silent');
let empty: TestDatabase;
let client: pg.Client;
let steps: string;

beforeEach(async () => {
  steps = await mkdtemp(join(tmpdir(), 'keybearer-steps-'));
  empty = await createEmptyDatabase();
  client = new pg.Client({ connectionString: empty.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await empty.close();
  await rm(steps, { recursive: true });
});

async function column(sql: string): Promise<readonly unknown[]> {
  const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
  return rows.map(([first]) => first);
}

const advisoryLocks = (): Promise<readonly unknown[]> =>
  column(
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );

const slowStep = (seconds: number): Promise<void> =>
  writeFile(
    join(steps, '0001_slow.sql'),
    `CREATE TABLE slow (id int); SELECT pg_sleep(${seconds}); CREATE TABLE done (id int);`,
  );

describe('migrate', () => {
  it.each([1, 2, 3, 4])('B262: five nodes may start on an empty database at once (round %i)', async () => {
    await Promise.all(Array.from({ length: 5 }, () => migrate(empty.url, logger)));
    expect(await column('SELECT name FROM pgmigrations ORDER BY id')).toEqual([
      '0001_tenants',
      '0002_servers',
      '0003_credentials',
      '0004_notices',
      '0005_grants',
      '0006_browser_sessions',
      '0007_row_level_security',
      '0008_key_rotation',
    ]);
    // B264: what took the lock has given it back.
    expect(await advisoryLocks()).toEqual([]);
    await migrate(empty.url, logger);
  });

  it('B265: a second node waits until the first has changed everything', async () => {
    await slowStep(0.5);
    const first = migrate(empty.url, logger, steps);
    await eventually('the first to hold the lock', async () => (await advisoryLocks()).length === 1);
    await migrate(empty.url, logger, steps);
    expect(await column(`SELECT to_regclass('done') IS NOT NULL`)).toEqual([true]);
    await first;
    expect(await column('SELECT name FROM pgmigrations')).toEqual(['0001_slow']);
    expect(await advisoryLocks()).toEqual([]);
  });

  it('B262: a node killed in the middle leaves nothing of a step, and no lock', async () => {
    await slowStep(30);
    const killed = migrate(empty.url, logger, steps).catch((error: unknown) => error);
    const pid = await eventually('the slow step', async () => {
      const pids = await column(
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'keybearer migrate' AND wait_event = 'PgSleep'`,
      );
      return pids[0];
    });
    await client.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await killed).toBeInstanceOf(Error);
    expect(await column(`SELECT to_regclass('slow') IS NULL`)).toEqual([true]);
    expect(await advisoryLocks()).toEqual([]);
    await slowStep(0);
    await migrate(empty.url, logger, steps);
    expect(await column(`SELECT to_regclass('done') IS NOT NULL`)).toEqual([true]);
  });

  it('keeps no step when a later one fails', async () => {
    await slowStep(0);
    await writeFile(join(steps, '0002_wrong.sql'), 'SELECT 1 / 0;');
    await expect(migrate(empty.url, logger, steps)).rejects.toMatchObject({ code: '22012' });
    expect(await column(`SELECT to_regclass('slow') IS NULL`)).toEqual([true]);
    expect(await column('SELECT name FROM pgmigrations')).toEqual([]);
    expect(await advisoryLocks()).toEqual([]);
  });

  it('leaves the database of a newer version as it is', async () => {
    await slowStep(0);
    await writeFile(join(steps, '0002_newer.sql'), 'CREATE TABLE newer (id int);');
    await migrate(empty.url, logger, steps);
    await rm(join(steps, '0002_newer.sql'));
    await migrate(empty.url, logger, steps);
    expect(await column('SELECT name FROM pgmigrations ORDER BY id')).toEqual(['0001_slow', '0002_newer']);
  });
});
