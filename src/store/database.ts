// One pool of connections to PostgreSQL in which every wait has a bound: for a connection, for an
// answer, and for the end.
import { Socket } from 'node:net';
import pg from 'pg';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 5_000;

export interface Queryable {
  /** `Row` is the claim; the column list of `text`, beside it, is the proof. `jsonb` columns are `unknown`. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export interface Database extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. No network call belongs inside. */
  transaction<T>(work: (transaction: Queryable) => Promise<T>): Promise<T>;
  /** Waits for running queries, at most 5 s, then cuts them off. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function openDatabase({ url, maxConnections, clock, logger }: DatabaseOptions): Database {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    application_name: 'keybearer',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // On our side, not as `statement_timeout`: a pooler between us and the server need not know it.
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    stream: () => trackedSocket(sockets),
  });
  // A lost connection is told here and to the query that needed it; it never ends the process.
  const onLost = (error: Error): void => logger.warn({ error: describeError(error) }, 'database connection lost');
  pool.on('error', onLost);
  pool.on('connect', (client) =>
    client.on('error', (error: Error) => logger.debug({ error: describeError(error) }, 'database connection failed')),
  );

  const withSession = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    const session = createSession(await pool.connect().catch(rethrow));
    try {
      return await work(session);
    } finally {
      session.release();
    }
  };

  return {
    query: (text, values) => withSession((session) => session.query(text, values)),
    transaction: (work) => withSession((session) => transact(session, work)),
    async close() {
      const cut = clock.after(CLOSE_TIMEOUT_MS, () => {
        logger.warn({ connections: sockets.size }, 'database connections were still in use and were cut off');
        for (const socket of sockets) socket.destroy();
      });
      // The pool forgets idle connections before they are closed, so the sockets are asked.
      const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      await Promise.all([pool.end(), ...closed]).finally(cut);
    },
  };
}

function trackedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once('close', () => sockets.delete(socket));
}

interface Session extends Queryable {
  release(): void;
}

/** A connection taken from the pool; it goes back only while it is known to be in step with the server. */
function createSession(client: pg.PoolClient): Session {
  let broken: Error | undefined;
  return {
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      try {
        return (await client.query<Row>(text, [...values])).rows;
      } catch (error) {
        // Without an answer (a timeout, a cut) it may still be on its way; "not now" is often a last word.
        if (!isAnswer(error)) broken = error instanceof Error ? error : new Error('query failed');
        return rethrow(error);
      }
    },
    release: () => client.release(broken),
  };
}

async function transact<T>(session: Session, work: (transaction: Queryable) => Promise<T>): Promise<T> {
  await session.query('BEGIN');
  try {
    const result = await work(session);
    await session.query('COMMIT');
    return result;
  } catch (error) {
    // When this fails too, the session is marked broken and the server rolls back by itself.
    await session.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Codes by which the server says "not now": connection, resources, shutting down (appendix A of its manual). */
const UNAVAILABLE = /^(?:08|53|57P)/;

function isAnswer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code ?? '');
}

function rethrow(error: unknown): never {
  if (isAnswer(error)) throw error;
  throw new ProxyError('overloaded', 'The database does not answer at the moment.', { cause: error });
}
