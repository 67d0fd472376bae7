// Two nodes over one database: each with a pool of its own.
import { createLogger } from '../../src/shared/logger.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import type { AdminSession } from '../support/admin-session.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { addTenant, openStore } from './open-store.ts';

export interface TwoNodes {
  readonly url: string;
  readonly databases: readonly [Database, Database];
  readonly admin: AdminSession;
  /** The first, then the second, then the first. */
  next(): Database;
  close(): Promise<void>;
}

/** With the tenants `acme` and `beta`. */
export async function openTwoNodes(): Promise<TwoNodes> {
  const first = await openStore();
  const deps = { maxConnections: 4, clock: new FakeClock(), logger: createLogger('silent') };
  const second = openDatabase({ url: first.url, ...deps });
  for (const tenant of ['acme', 'beta']) await addTenant(first.database, tenant);
  const databases = [first.database, second] as const;
  let turn = 0;
  return {
    url: first.url,
    databases,
    admin: first.admin,
    next: () => databases[turn++ % 2 === 0 ? 0 : 1],
    async close() {
      await second.close();
      await first.close();
    },
  };
}
