// One PostgreSQL for the whole run, with one migrated database that every test file gets a copy of.
import { access, chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { createLogger } from '../../src/shared/logger.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded.ts';
import { migrate } from '../../src/store/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's maintenance database. */
    readonly postgresUrl: string;
    readonly templateDatabase: string;
  }
}

const TEMPLATE = 'keybearer_template';
const PREFIX = join(tmpdir(), 'keybearer-test-');

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const logger = createLogger('silent');
  await sweep();
  const dataDir = await mkdtemp(`${PREFIX}${process.pid}-`);
  // When we are root the server runs as another user, who has to get through.
  await chmod(dataDir, 0o711);
  const server = await startEmbeddedPostgres({ dataDir, logger, fsync: false });
  const tearDown = async (): Promise<void> => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server.url);
    await migrate(withDatabase(server.url, TEMPLATE), logger);
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('postgresUrl', withDatabase(server.url, 'postgres'));
  project.provide('templateDatabase', TEMPLATE);
  return tearDown;
}

/** A run that was killed could not tidy up: its server has ended by itself, its files are still there. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const dataDir = join(tmpdir(), name);
    const pid = dataDir.startsWith(PREFIX) ? Number.parseInt(dataDir.slice(PREFIX.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isRunning(pid) || (await exists(join(dataDir, 'postgres/pgdata/postmaster.pid'))))
      continue;
    await rm(dataDir, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function createTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
