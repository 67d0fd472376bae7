// Brings the database to the newest schema: all missing steps or none, however many processes start at once.
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { describeError, type Logger } from '../shared/logger.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
const LOCK_TIMEOUT = '5min';

/** Needs a direct connection: an advisory lock belongs to a session, which a transaction pooler does not keep. */
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
    await runSteps(client, logger, directory);
  } finally {
    // The end of the session frees the lock, whatever happened before.
    await client.end();
  }
}

async function runSteps(client: pg.Client, logger: Logger, directory: string): Promise<void> {
  // node-pg-migrate takes the lock on this client before it looks which steps are missing, and
  // frees it on the same client after the commit.
  const steps = await runner({
    dbClient: client,
    dir: directory,
    direction: 'up',
    migrationsTable: 'pgmigrations',
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
