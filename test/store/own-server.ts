// A PostgreSQL server of a test's own, for what a database cannot have to itself: roles belong to the whole server.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/shared/logger.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded.ts';
import { requireRowSecurity } from '../../src/store/row-security.ts';
import { type AdminSession, openAdminSession } from '../support/admin-session.ts';
import { FakeClock } from '../support/fake-clock.ts';

export const logger = createLogger('silent');

export interface OwnedDatabase {
  readonly user: string;
  readonly database: string;
  readonly url: string;
}

export interface OwnServer {
  /** Of its superuser. */
  readonly url: string;
  readonly admin: AdminSession;
  urlOf(database: string, user?: string): string;
  /** A user who may do nothing but what the options say, and a database of theirs. */
  aUserWithDatabase(options?: string): Promise<OwnedDatabase>;
  /** As the superuser. */
  inDatabase<T>(database: string, work: (session: AdminSession) => Promise<T>): Promise<T>;
  dropAppRole(): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnServer(): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'keybearer-roles-'));
  await chmod(dataDir, 0o711);
  const server = await startEmbeddedPostgres({ dataDir, logger, fsync: false });
  const admin = openAdminSession(server.url);
  const urlOf = (database: string, user?: string): string => {
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    if (user !== undefined) [url.username, url.password] = [user, 'secret'];
    return url.href;
  };
  let made = 0;
  return {
    url: server.url,
    admin,
    urlOf,
    async aUserWithDatabase(options = '') {
      made += 1;
      const [user, database] = [`user${made}`, `database${made}`];
      await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'secret' ${options}`);
      await admin.query(`CREATE DATABASE ${database} OWNER ${user}`);
      return { user, database, url: urlOf(database, user) };
    },
    async inDatabase(database, work) {
      const session = openAdminSession(urlOf(database));
      try {
        return await work(session);
      } finally {
        await session.end();
      }
    },
    async dropAppRole() {
      await admin.query('DROP ROLE IF EXISTS keybearer_app');
    },
    async close() {
      await admin.end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** As the service does it. */
export async function open<T>(url: string, work: (database: Database, clock: FakeClock) => Promise<T>): Promise<T> {
  const clock = new FakeClock();
  const database = openDatabase({ url, maxConnections: 2, clock, logger });
  try {
    return await work(database, clock);
  } finally {
    await database.close();
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no error');

/** What a service says instead of starting; `served` when it starts. */
export const refusal = async (url: string): Promise<string> =>
  open(url, requireRowSecurity).then(() => 'served', messageOf);
