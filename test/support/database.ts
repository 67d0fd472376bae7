// A database of one's own, with the newest schema and nothing in it.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly url: string;
  /** Drops it, whoever is still connected. */
  close(): Promise<void>;
}

export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(`TEMPLATE ${inject('templateDatabase')}`);
}

/** Without any schema, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('TEMPLATE template0');
}

async function createDatabase(options: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(`CREATE DATABASE ${name} ${options}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return { url: url.href, close: () => execute(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function execute(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
