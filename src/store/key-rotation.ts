// Data keys as the rotation sees them. Each change says what it expects to find, so that nodes that rotate at the same
// time do each other no harm.
import type { RotationStore, StoredDataKey } from '../credential/rotation-store.ts';
import type { TenantId } from '../shared/id.ts';
import type { Database } from './database.ts';
import { toTenantId } from './ids.ts';
import type { Queryable } from './session.ts';

interface KeyRow {
  readonly id: string;
  readonly wrapped: Buffer;
  readonly master_key_id: string;
  readonly is_current: boolean;
  readonly created_at: Date;
  readonly unused_since: Date | null;
}

const OPERATOR = { kind: 'operator' } as const;
const SERVICE = { kind: 'service' } as const;

export function createRotationStore(database: Database): RotationStore {
  const did = (rows: readonly unknown[]): boolean => rows.length > 0;
  return {
    async listTenants(after, limit) {
      const rows = await database
        .within(OPERATOR)
        .query<{ id: string }>('SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2', [after ?? '', limit]);
      return rows.map(({ id }) => toTenantId(id));
    },
    async listKeys(tenantId) {
      const rows = await database.forTenant(tenantId).query<KeyRow>(
        `SELECT id, wrapped, master_key_id, is_current, created_at, unused_since FROM data_keys
         WHERE tenant_id = $1 ORDER BY created_at, id`,
        [tenantId],
      );
      return rows.map(toKey);
    },
    rewrap: async (tenantId, { id, wrapped }, to) =>
      did(
        await database.forTenant(tenantId).query(
          `UPDATE data_keys SET wrapped = $4, master_key_id = $5
           WHERE tenant_id = $1 AND id = $2 AND wrapped = $3 RETURNING id`,
          [tenantId, id, wrapped, to.bytes, to.keyId],
        ),
      ),
    rewrapServiceKey: async (id, from, to) =>
      did(
        await database
          .within(SERVICE)
          .query('UPDATE service_keys SET sealed = $3, master_key_id = $4 WHERE id = $1 AND sealed = $2 RETURNING id', [
            id,
            from,
            to.bytes,
            to.keyId,
          ]),
      ),
    makeCurrent: (tenantId, currentId, key, now) =>
      database.forTenant(tenantId).transaction(async (transaction) => {
        const replaced = await transaction.query(
          'UPDATE data_keys SET is_current = false WHERE tenant_id = $1 AND id = $2 AND is_current RETURNING id',
          [tenantId, currentId],
        );
        if (!did(replaced)) return false;
        await transaction.query(
          'INSERT INTO data_keys (tenant_id, id, wrapped, master_key_id, created_at) VALUES ($1, $2, $3, $4, $5)',
          [tenantId, key.id, key.wrapped, key.masterKeyId, new Date(now)],
        );
        return true;
      }),
    countSealed: (tenantId, keyId) => countSealed(database.forTenant(tenantId), tenantId, keyId),
    async setUnused(tenantId, keyId, since) {
      await database
        .forTenant(tenantId)
        .query('UPDATE data_keys SET unused_since = $3 WHERE tenant_id = $1 AND id = $2 AND NOT is_current', [
          tenantId,
          keyId,
          since === undefined ? null : new Date(since),
        ]);
    },
    removeUnused: (tenantId, keyId, until) =>
      database.forTenant(tenantId).transaction(async (transaction) => {
        // Held while it is counted, so that of two nodes only one decides.
        const due = await transaction.query(
          `SELECT id FROM data_keys WHERE tenant_id = $1 AND id = $2 AND NOT is_current AND unused_since <= $3 FOR UPDATE`,
          [tenantId, keyId, new Date(until)],
        );
        if (!did(due) || (await countSealed(transaction, tenantId, keyId)) > 0) return false;
        return did(
          await transaction.query('DELETE FROM data_keys WHERE tenant_id = $1 AND id = $2 RETURNING id', [
            tenantId,
            keyId,
          ]),
        );
      }),
    async removeAll(tenantId) {
      await database.forTenant(tenantId).query('DELETE FROM data_keys WHERE tenant_id = $1', [tenantId]);
    },
  };
}

/** In base64, which JSON columns hold, 17 bytes are 22 signs and a part of the next. */
const SIGNS = 22;

async function countSealed(queryable: Queryable, tenantId: TenantId, keyId: string): Promise<number> {
  const beginnings = [1, 2].map((version) => Buffer.concat([Buffer.from([version]), Buffer.from(keyId, 'hex')]));
  const texts = beginnings.map((bytes) => bytes.toString('base64').slice(0, SIGNS));
  const [row] = await queryable.query<{ sealed: number }>(
    `SELECT (
       (SELECT count(*) FROM credentials WHERE tenant_id = $1 AND substring(sealed FROM 1 FOR 17) IN ($2, $3))
       + (SELECT count(*) FROM oauth_clients WHERE tenant_id = $1 AND substring(sealed FROM 1 FOR 17) IN ($2, $3))
       + (SELECT count(*) FROM sign_in_attempts WHERE tenant_id = $1 AND substring(sealed FROM 1 FOR 17) IN ($2, $3))
       + (SELECT count(*) FROM servers WHERE tenant_id = $1
            AND (strpos(definition::text, $4) > 0 OR strpos(definition::text, $5) > 0))
       + (SELECT count(*) FROM tenants WHERE id = $1
            AND (strpos(sign_in::text, $4) > 0 OR strpos(sign_in::text, $5) > 0))
     )::int AS sealed`,
    [tenantId, ...beginnings, ...texts],
  );
  return row?.sealed ?? 0;
}

function toKey(row: KeyRow): StoredDataKey {
  return {
    id: row.id,
    wrapped: row.wrapped,
    masterKeyId: row.master_key_id,
    isCurrent: row.is_current,
    createdAt: row.created_at.getTime(),
    unusedSince: row.unused_since?.getTime(),
  };
}
