// One pool of connections to PostgreSQL in which every wait has a bound: for a connection, for an
// answer, and for the end. Nothing is asked of it without saying whose rows are meant.
import { Socket } from 'node:net';
import pg from 'pg';
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { asAppRole } from './app-role.ts';
import type { Scope } from './scope.ts';
import { createSession, type Queryable, rethrow, type Session } from './session.ts';
import { askOnce, transact } from './transaction.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 5_000;

/** `query` is one statement in a transaction of its own; the rows of other scopes are not there for it. */
export interface Scoped extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. No network call belongs inside. */
  transaction<T>(work: (transaction: Queryable) => Promise<T>): Promise<T>;
}

export interface Database {
  forTenant(tenantId: TenantId): Scoped;
  within(scope: Scope): Scoped;
  /** A sign of life; rejects with `overloaded` when there is none. */
  ping(): Promise<void>;
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
    connectionString: asAppRole(url),
    max: maxConnections,
    application_name: 'keybearer',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // On our side, not as `statement_timeout`: a pooler between us and the server need not know it.
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    // A scope costs a transaction, and this saves its round trips.
    pipeline: true,
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
  const within = (scope: Scope): Scoped => ({
    query: (text, values) => withSession((session) => askOnce(session, scope, text, values)),
    transaction: (work) => withSession((session) => transact(session, scope, work)),
  });

  return {
    forTenant: (tenantId) => within({ kind: 'tenant', tenantId }),
    within,
    async ping() {
      await withSession((session) => session.query('SELECT 1'));
    },
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
