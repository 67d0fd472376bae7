// The browser_sign_ins table: people on their way to prove who they are, each way good once.
import type { BrowserSignIn, BrowserSignInStore } from '../identity/browser-sign-in-store.ts';
import type { Database } from './database.ts';
import { toPrincipalId, toTenantId } from './ids.ts';
import { namedBy, provenBy } from './scope.ts';
import type { Queryable } from './session.ts';

interface SignInRow {
  readonly tenant_id: string;
  readonly id: string;
  /** The table's own check knows no other. */
  readonly mode: 'oidc' | 'handoff';
  readonly browser_hash: Buffer;
  readonly state_hash: Buffer | null;
  readonly principal_id: string | null;
  readonly expires_at: Date;
}

const COLUMNS = 'tenant_id, id, mode, browser_hash, state_hash, principal_id, expires_at';

export function createBrowserSignInStore(database: Database): BrowserSignInStore {
  const findOne = async (
    rows: Queryable,
    condition: string,
    values: readonly unknown[],
  ): Promise<BrowserSignIn | undefined> => {
    const [row] = await rows.query<SignInRow>(`SELECT ${COLUMNS} FROM browser_sign_ins WHERE ${condition}`, values);
    return row && toSignIn(row);
  };
  return {
    async create({ tenantId, id, mode, browserHash, stateHash, expiresAt }, now) {
      await database.forTenant(tenantId).transaction(async (rows) => {
        // Sweeps on the way, so that old ones go without a job for it.
        const old = 'DELETE FROM browser_sign_ins WHERE tenant_id = $1 AND expires_at <= $2';
        await rows.query(old, [tenantId, new Date(now)]);
        await rows.query(
          `INSERT INTO browser_sign_ins (tenant_id, id, mode, browser_hash, state_hash, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6)`,
          [tenantId, id, mode, browserHash, stateHash, new Date(expiresAt)],
        );
      });
    },
    async find(id, now) {
      // From an address, so it may be anything; no row can hold a NUL.
      if (id.includes('\u0000')) return undefined;
      return findOne(database.within(namedBy(id)), 'id = $1 AND expires_at > $2', [id, new Date(now)]);
    },
    findByState: (tenantId, stateHash, now) =>
      findOne(database.forTenant(tenantId), 'tenant_id = $1 AND state_hash = $2 AND expires_at > $3', [
        tenantId,
        stateHash,
        new Date(now),
      ]),
    findByCode: (codeHash, now) =>
      findOne(database.within(provenBy(codeHash)), 'code_hash = $1 AND code_expires_at > $2 AND expires_at > $2', [
        codeHash,
        new Date(now),
      ]),
    async confirm(tenantId, id, { principalId, codeHash, codeExpiresAt }, now) {
      const rows = await database.forTenant(tenantId).query(
        `UPDATE browser_sign_ins SET principal_id = $4, code_hash = $5, code_expires_at = $6
         WHERE tenant_id = $1 AND id = $2 AND mode = 'handoff' AND used_at IS NULL AND expires_at > $3
           AND (principal_id IS NULL OR principal_id = $4) RETURNING id`,
        [tenantId, id, new Date(now), principalId, codeHash, new Date(codeExpiresAt)],
      );
      return rows.length > 0;
    },
    async take(tenantId, id, now) {
      // Check and mark in one statement, so that of two answers only one lets somebody in.
      const rows = await database.forTenant(tenantId).query(
        `UPDATE browser_sign_ins SET used_at = $3
         WHERE tenant_id = $1 AND id = $2 AND used_at IS NULL AND expires_at > $3 RETURNING id`,
        [tenantId, id, new Date(now)],
      );
      return rows.length > 0;
    },
  };
}

function toSignIn(row: SignInRow): BrowserSignIn {
  return {
    tenantId: toTenantId(row.tenant_id),
    id: row.id,
    mode: row.mode,
    browserHash: row.browser_hash,
    stateHash: row.state_hash ?? undefined,
    principalId: row.principal_id === null ? undefined : toPrincipalId(row.principal_id),
    expiresAt: row.expires_at.getTime(),
  };
}
