// Our own session in the server: shows that it answers to our password, and holds the claim to own it.
import pg from 'pg';
import { OwnError } from '../../shared/errors.ts';
import { describeError, type Logger } from '../../shared/logger.ts';
import { SUPERUSER } from './initialise.ts';
import { PASSWORD_FILE } from './password.ts';

export const DATABASE = 'keybearer';
const CONNECT_TIMEOUT_MS = 2_000;
/** Any number; the lock lives in the maintenance database, where nothing else takes one. */
const OWNER_LOCK = 4_202_407;

export interface Session {
  /** True for one process at a time. The claim ends with the process, however it ends. */
  readonly isOwner: boolean;
  /** Settles when the session is over, by our end or the server's; never rejects. */
  readonly over: Promise<void>;
  end(): Promise<void>;
}

export function toUrl(port: number, password: string, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}

/** Undefined while the server does not take connections (yet, or any more). */
export async function openSession(port: number, password: string, logger: Logger): Promise<Session | undefined> {
  const client = new pg.Client({
    connectionString: toUrl(port, password, 'postgres'),
    application_name: 'keybearer owner',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  client.on('error', (error) =>
    logger.debug({ error: describeError(error) }, 'session with the embedded database ended'),
  );
  const over = new Promise<void>((resolve) => client.once('end', () => resolve()));
  try {
    await client.connect();
    await createDatabase(client);
    const { rows } = await client.query<{ owner: boolean }>('SELECT pg_try_advisory_lock($1) AS owner', [OWNER_LOCK]);
    return { isOwner: rows[0]?.owner === true, over, end: () => client.end() };
  } catch (error) {
    client.end().catch(() => undefined);
    // Class 28: this is another server, or another password than the one the cluster was made with.
    if (!(error instanceof pg.DatabaseError) || !error.code?.startsWith('28')) return undefined;
    throw new OwnError(`The embedded database does not take the password in ${PASSWORD_FILE}.`, { cause: error });
  }
}

async function createDatabase(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
  if (rows.length > 0) return;
  await client.query(`CREATE DATABASE ${DATABASE}`).catch((error: unknown) => {
    // Another process was first: duplicate_database, or unique_violation when both were on the way.
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code !== '42P04' && code !== '23505') throw error;
  });
}
