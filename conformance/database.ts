// One PostgreSQL for a whole run, and in it a migrated database that every scenario gets a copy of.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLogger } from '../src/shared/logger.ts';
import { startEmbeddedPostgres } from '../src/store/embedded.ts';
import { migrate } from '../src/store/migrate.ts';

const TEMPLATE = 'conformance_template';

export interface Databases {
  /** Of the maintenance database, for `copyOf`. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startDatabases(): Promise<Databases> {
  const logger = createLogger('silent');
  const dataDir = await mkdtemp(join(tmpdir(), 'keybearer-conformance-'));
  // When we are root the server runs as another user, who has to get through.
  await chmod(dataDir, 0o711);
  const server = await startEmbeddedPostgres({ dataDir, logger, fsync: false });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await execute(server.url, `CREATE DATABASE ${TEMPLATE}`);
    await migrate(databaseAt(server.url, TEMPLATE), logger);
    return { url: databaseAt(server.url, 'postgres'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An empty one with the newest schema. It goes with the server. */
export async function copyOf(url: string): Promise<string> {
  const name = `scenario_${randomBytes(8).toString('hex')}`;
  await execute(url, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  return databaseAt(url, name);
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function databaseAt(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
