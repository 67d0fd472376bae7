// Brings the database to the newest schema: all missing steps or none, however many processes start at once.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { OwnError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { APP_ROLE, ensureAppRole, whatToRun } from './app-role.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
const LOCK_TIMEOUT = '5min';
/** Where it is written down which steps were done. */
const STEPS = 'pgmigrations';

/**
 * Needs a direct connection: an advisory lock belongs to a session, which a transaction pooler does not keep.
 * Where the user owns nothing, somebody else migrates; then it is only seen whether that was done.
 */
export async function migrate(databaseUrl: string, logger: Logger, directory = MIGRATIONS): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'keybearer migrate',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', (error) => logger.warn({ error: describeError(error) }, 'migration connection lost'));
  await client.connect();
  try {
    // Also bounds the wait for the advisory lock, which another node holds until its last step is done.
    await client.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`);
    if (await isSomebodyElses(client)) await requireSteps(client, directory);
    else {
      await ensureAppRole(client);
      await runSteps(client, logger, directory);
    }
  } finally {
    // The end of the session frees the lock, whatever happened before.
    await client.end();
  }
}

async function isSomebodyElses(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM pg_class WHERE oid = to_regclass('${STEPS}') AND NOT pg_has_role(relowner, 'USAGE')`,
  );
  return rows.length > 0;
}

async function requireSteps(client: pg.Client, directory: string): Promise<void> {
  try {
    await client.query(`SET ROLE ${APP_ROLE}`);
  } catch (error) {
    throw new OwnError(await whatToRun(client), { cause: error });
  }
  const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${STEPS}`);
  const done = new Set(rows.map(({ name }) => `${name}.sql`));
  const missing = (await readdir(directory)).filter((file) => file.endsWith('.sql') && !done.has(file));
  if (missing.length === 0) return;
  throw new OwnError(
    `it lacks ${missing.sort().join(', ')}, and this user may not change its tables. Run "keybearer migrate" with the owner's DATABASE_URL`,
  );
}

async function runSteps(client: pg.Client, logger: Logger, directory: string): Promise<void> {
  // node-pg-migrate takes the lock on this client before it looks which steps are missing, and
  // frees it on the same client after the commit.
  const steps = await runner({
    dbClient: client,
    dir: directory,
    direction: 'up',
    migrationsTable: STEPS,
    advisoryLockMode: 'wait',
    singleTransaction: true,
    checkOrder: true,
    logger: {
      info: (message) => logger.debug({ message }, 'migration'),
      warn: (message) => logger.warn({ message }, 'migration'),
      error: (message) => logger.error({ message }, 'migration'),
    },
  });
  if (steps.length > 0) logger.info({ steps: steps.map(({ name }) => name) }, 'database migrated');
}
