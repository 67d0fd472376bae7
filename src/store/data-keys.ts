// The data_keys table: each tenant's keys, wrapped by a master key that is not in the database.
import type { DataKeyStore, WrappedDataKey } from '../credential/data-key-store.ts';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import type { Database } from './database.ts';

interface DataKeyRow {
  readonly id: string;
  readonly wrapped: Buffer;
  readonly master_key_id: string;
}

export function createDataKeyStore(database: Database): DataKeyStore {
  const findCurrent = async (tenantId: TenantId): Promise<WrappedDataKey | undefined> => {
    const [row] = await database
      .forTenant(tenantId)
      .query<DataKeyRow>('SELECT id, wrapped, master_key_id FROM data_keys WHERE tenant_id = $1 AND is_current', [
        tenantId,
      ]);
    return row && toDataKey(row);
  };
  return {
    findCurrent,
    async list(tenantId) {
      const rows = await database
        .forTenant(tenantId)
        .query<DataKeyRow>(
          'SELECT id, wrapped, master_key_id FROM data_keys WHERE tenant_id = $1 ORDER BY created_at, id',
          [tenantId],
        );
      return rows.map(toDataKey);
    },
    async ensure(tenantId, { id, wrapped, masterKeyId }) {
      const known = await findCurrent(tenantId);
      if (known !== undefined) return known;
      await database.forTenant(tenantId).query(
        `INSERT INTO data_keys (tenant_id, id, wrapped, master_key_id) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant_id) WHERE is_current DO NOTHING`,
        [tenantId, id, wrapped, masterKeyId],
      );
      // Read again instead of trusting our own: another node may have been first.
      const current = await findCurrent(tenantId);
      if (current === undefined) throw new ProxyError('internal', 'The tenant has no data key.');
      return current;
    },
  };
}

function toDataKey(row: DataKeyRow): WrappedDataKey {
  return { id: row.id, wrapped: row.wrapped, masterKeyId: row.master_key_id };
}
