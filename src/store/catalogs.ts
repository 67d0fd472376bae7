// The catalogs table: tool lists as last found, for every node and across restarts.
import type { CatalogStore, StoredCatalog } from '../catalog/server-store.ts';
import type { Database } from './database.ts';
import { toServerId, toTenantId } from './ids.ts';

interface CatalogRow {
  readonly tenant_id: string;
  readonly server_id: string;
  readonly owner: string;
  readonly tools: string;
  readonly binding: string;
  readonly found_at: Date;
}

const COLUMNS = 'tenant_id, server_id, owner, tools, binding, found_at';

export function createCatalogStore(database: Database): CatalogStore {
  return {
    async list(tenantId) {
      const rows = await database
        .forTenant(tenantId)
        .query<CatalogRow>(`SELECT ${COLUMNS} FROM catalogs WHERE tenant_id = $1 ORDER BY server_id, owner`, [
          tenantId,
        ]);
      return rows.map(toCatalog);
    },
    async put({ tenantId, serverId, owner, toolsJson, binding, foundAt }) {
      await database.forTenant(tenantId).query(
        `INSERT INTO catalogs (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, server_id, owner) DO UPDATE
         SET tools = EXCLUDED.tools, binding = EXCLUDED.binding, found_at = EXCLUDED.found_at`,
        [tenantId, serverId, owner, toolsJson, binding, new Date(foundAt)],
      );
    },
    async remove(tenantId, serverId, owner) {
      await database
        .forTenant(tenantId)
        .query('DELETE FROM catalogs WHERE tenant_id = $1 AND server_id = $2 AND owner = $3', [
          tenantId,
          serverId,
          owner,
        ]);
    },
  };
}

function toCatalog(row: CatalogRow): StoredCatalog {
  return {
    tenantId: toTenantId(row.tenant_id),
    serverId: toServerId(row.server_id),
    owner: row.owner,
    toolsJson: row.tools,
    binding: row.binding,
    foundAt: row.found_at.getTime(),
  };
}
