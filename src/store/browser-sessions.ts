// The browser_sessions table: hashes of the cookies of people who were proved.
import type { BrowserSession, BrowserSessionStore } from '../identity/browser-session-store.ts';
import type { Database } from './database.ts';
import { toPrincipalId, toTenantId } from './ids.ts';
import { provenBy } from './scope.ts';

interface SessionRow {
  readonly tenant_id: string;
  readonly hash: Buffer;
  readonly principals: readonly string[];
  readonly proof: string;
  readonly expires_at: Date;
}

const COLUMNS = 'tenant_id, hash, principals, proof, expires_at';

export function createBrowserSessionStore(database: Database): BrowserSessionStore {
  return {
    async create({ tenantId, hash, principals, proof, expiresAt }, now) {
      await database.forTenant(tenantId).transaction(async (rows) => {
        // Sweeps on the way, so that old ones go without a job for it.
        const old = 'DELETE FROM browser_sessions WHERE tenant_id = $1 AND expires_at <= $2';
        await rows.query(old, [tenantId, new Date(now)]);
        const text = `INSERT INTO browser_sessions (${COLUMNS}) VALUES ($1, $2, $3, $4, $5)`;
        await rows.query(text, [tenantId, hash, principals, proof, new Date(expiresAt)]);
      });
    },
    async find(hash, now) {
      const [row] = await database
        .within(provenBy(hash))
        .query<SessionRow>(`SELECT ${COLUMNS} FROM browser_sessions WHERE hash = $1 AND expires_at > $2`, [
          hash,
          new Date(now),
        ]);
      return row && toSession(row);
    },
    async remove(hash) {
      // The cookie shows whose it is; with that it is removed, in its tenant.
      const [row] = await database
        .within(provenBy(hash))
        .query<Pick<SessionRow, 'tenant_id'>>('SELECT tenant_id FROM browser_sessions WHERE hash = $1', [hash]);
      if (row === undefined) return;
      const text = 'DELETE FROM browser_sessions WHERE tenant_id = $1 AND hash = $2';
      await database.forTenant(toTenantId(row.tenant_id)).query(text, [row.tenant_id, hash]);
    },
  };
}

function toSession(row: SessionRow): BrowserSession {
  return {
    tenantId: toTenantId(row.tenant_id),
    hash: row.hash,
    principals: row.principals.map(toPrincipalId),
    proof: row.proof,
    expiresAt: row.expires_at.getTime(),
  };
}
