// The sign_in_attempts table: each attempt is taken once, by whichever node its callback comes to.
import type { AttemptState, AttemptStore, StoredAttempt } from '../credential/attempt-store.ts';
import type { SealedAttempt } from '../credential/rotation-store.ts';
import type { Database } from './database.ts';
import { toPrincipalId, toServerId, toTenantId } from './ids.ts';
import { provenBy } from './scope.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** All that a seal is about, and the seal. */
export interface SealedAttemptRow {
  readonly state_hash: Buffer;
  readonly context_id: string;
  readonly principal_id: string;
  readonly server_id: string;
  readonly binding: string;
  readonly browser_hash: Buffer;
  readonly sealed: Buffer;
}

interface AttemptRow extends SealedAttemptRow {
  readonly tenant_id: string;
  readonly expires_at: Date;
  /** The table's own check knows no other. */
  readonly state: AttemptState;
}

export const SEALED_COLUMNS = 'state_hash, context_id, principal_id, server_id, binding, browser_hash, sealed';

export function createAttemptStore(database: Database): AttemptStore {
  return {
    async create({ tenantId, stateHash, contextId, principalId, serverId, binding, browserHash, sealed, expiresAt }) {
      await database.forTenant(tenantId).transaction(async (rows) => {
        // Sweeps on the way, so that old ones go without a job for it, also those of people who never come back.
        const old = 'DELETE FROM sign_in_attempts WHERE tenant_id = $1 AND expires_at < $2';
        await rows.query(old, [tenantId, new Date(expiresAt - DAY_MS)]);
        await rows.query(
          `INSERT INTO sign_in_attempts (tenant_id, ${SEALED_COLUMNS}, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          [tenantId, stateHash, contextId, principalId, serverId, binding, browserHash, sealed, new Date(expiresAt)],
        );
      });
    },
    async find(stateHash, now) {
      const [row] = await database
        .within(provenBy(stateHash))
        .query<AttemptRow>(
          `SELECT ${SEALED_COLUMNS}, tenant_id, expires_at, state FROM sign_in_attempts WHERE state_hash = $1 AND (state <> 'open' OR expires_at > $2)`,
          [stateHash, new Date(now)],
        );
      return row && toAttempt(row);
    },
    async take(tenantId, stateHash, now) {
      const rows = await database.forTenant(tenantId).query(
        `UPDATE sign_in_attempts SET state = 'taken'
         WHERE tenant_id = $1 AND state_hash = $2 AND state = 'open' AND expires_at > $3 RETURNING state`,
        [tenantId, stateHash, new Date(now)],
      );
      return rows.length > 0;
    },
    async end(tenantId, stateHash, state) {
      const text = 'UPDATE sign_in_attempts SET state = $3 WHERE tenant_id = $1 AND state_hash = $2';
      await database.forTenant(tenantId).query(text, [tenantId, stateHash, state]);
    },
    async countOpen(tenantId, principalId, now) {
      const [row] = await database.forTenant(tenantId).query<{ open: number }>(
        `SELECT count(*)::int AS open FROM sign_in_attempts
         WHERE tenant_id = $1 AND principal_id = $2 AND state = 'open' AND expires_at > $3`,
        [tenantId, principalId, new Date(now)],
      );
      return row?.open ?? 0;
    },
  };
}

export function toSealedAttempt(row: SealedAttemptRow): SealedAttempt {
  return {
    stateHash: row.state_hash,
    contextId: row.context_id,
    principalId: toPrincipalId(row.principal_id),
    serverId: toServerId(row.server_id),
    binding: row.binding,
    browserHash: row.browser_hash,
    sealed: row.sealed,
  };
}

function toAttempt(row: AttemptRow): StoredAttempt {
  return {
    ...toSealedAttempt(row),
    tenantId: toTenantId(row.tenant_id),
    expiresAt: row.expires_at.getTime(),
    state: row.state,
  };
}
