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
const CONNECT_TIMEOUT_MS = 5_000;
/** Until it is known that somebody answers there. */
const QUESTION_TIMEOUT_MS = 10_000;
/** A step may build an index over all there is; whoever is silent for longer will not come back. */
const STEP_TIMEOUT_MS = 60 * 60_000;
/** How the library says which one it is at. */
const STEP_BEGINS = /^### MIGRATION (\S{1,100}) /;
/** Where it is written down which steps were done. */
const STEPS = 'pgmigrations';

/**
 * Needs a direct connection: an advisory lock belongs to a session, which a transaction pooler does not keep.
 * Where the user owns nothing, somebody else migrates; then it is only seen whether that was done.
 */
export async function migrate(databaseUrl: string, logger: Logger, directory = MIGRATIONS): Promise<void> {
  const isOurs = await connected(databaseUrl, logger, QUESTION_TIMEOUT_MS, async (client) => {
    if (await isSomebodyElses(client)) return requireSteps(client, directory).then(() => false);
    await ensureAppRole(client);
    await requireRight(client);
    return true;
  });
  if (isOurs)
    await connected(databaseUrl, logger, STEP_TIMEOUT_MS, async (client) => {
      // Also bounds the wait for the advisory lock, which another node holds until its last step is done.
      await client.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`);
      await runSteps(client, logger, directory);
    });
}

async function connected<T>(
  databaseUrl: string,
  logger: Logger,
  answerTimeoutMs: number,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'keybearer migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: answerTimeoutMs,
    keepAlive: true,
  });
  client.on('error', (error) => logger.warn({ error: describeError(error) }, 'migration connection lost'));
  await client.connect();
  try {
    return await work(client);
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

/** Said here, because the library that runs the steps leaves nothing of the server's answer to tell it by. */
async function requireRight(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ user: string }>(
    `SELECT current_user AS user FROM pg_namespace
     WHERE nspname = 'public' AND to_regclass('${STEPS}') IS NULL AND NOT has_schema_privilege(oid, 'CREATE')`,
  );
  const [{ user } = {}] = rows;
  if (user === undefined) return;
  throw new OwnError(
    `its user may not make tables in it. As its owner, run: GRANT CREATE ON SCHEMA public TO ${pg.escapeIdentifier(user)};`,
  );
}

async function runSteps(client: pg.Client, logger: Logger, directory: string): Promise<void> {
  // node-pg-migrate takes the lock on this client before it looks which steps are missing, and
  // frees it on the same client after the commit.
  let step: string | undefined;
  const steps = await runner({
    dbClient: client,
    dir: directory,
    direction: 'up',
    migrationsTable: STEPS,
    advisoryLockMode: 'wait',
    singleTransaction: true,
    checkOrder: true,
    logger: {
      info(message) {
        step = STEP_BEGINS.exec(message)?.[1] ?? step;
        logger.debug({ message }, 'migration');
      },
      warn: (message) => logger.warn({ message }, 'migration'),
      // It quotes the server, and the server may quote what stands in a row (T23).
      error: () => undefined,
    },
  }).catch((error: unknown) => {
    logger.error({ step, error: describeError(error) }, 'a step of the migration failed');
    throw error;
  });
  if (steps.length > 0) logger.info({ steps: steps.map(({ name }) => name) }, 'database migrated');
}
