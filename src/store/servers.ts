// The servers table, which people may write by hand as well; its triggers keep revisions and notices.
import type { ServerRow, ServerStore } from '../catalog/server-store.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Database } from './database.ts';
import { toServerId, toTenantId } from './ids.ts';

interface Row {
  readonly tenant_id: string;
  readonly id: string;
  readonly name: string;
  readonly definition: unknown;
  readonly enabled: boolean;
  readonly revision: string;
}

const COLUMNS = 'tenant_id, id, name, definition, enabled, revision';

export function createServerStore(database: Database): ServerStore {
  return {
    async list(tenantId) {
      const rows = await database
        .forTenant(tenantId)
        .query<Row>(`SELECT ${COLUMNS} FROM servers WHERE tenant_id = $1 ORDER BY name`, [tenantId]);
      return rows.map(toServerRow);
    },
    async listTenantIds() {
      const tenants = database.within({ kind: 'operator' });
      const rows = await tenants.query<{ id: string }>('SELECT id FROM tenants ORDER BY id');
      return rows.map(({ id }) => toTenantId(id));
    },
    async put(tenantId, name, definition, enabled) {
      // Through `tenants`, so that a tenant removed a moment ago is "not found" and no broken key.
      const [row] = await database.forTenant(tenantId).query<Row>(
        `INSERT INTO servers (tenant_id, name, definition, enabled) SELECT id, $2, $3, $4 FROM tenants WHERE id = $1 FOR KEY SHARE
         ON CONFLICT (tenant_id, name) DO UPDATE SET definition = EXCLUDED.definition, enabled = EXCLUDED.enabled
         RETURNING ${COLUMNS}`,
        [tenantId, name, JSON.stringify(definition), enabled],
      );
      if (row === undefined) throw new ProxyError('not_found', 'There is no such tenant.');
      return toServerRow(row);
    },
    async replaceDefinition({ tenantId, name, revision }, definition) {
      const text =
        'UPDATE servers SET definition = $4 WHERE tenant_id = $1 AND name = $2 AND revision = $3 RETURNING name';
      const values = [tenantId, name, revision, JSON.stringify(definition)];
      return (await database.forTenant(tenantId).query(text, values)).length > 0;
    },
    async remove(tenantId, name) {
      const text = 'DELETE FROM servers WHERE tenant_id = $1 AND name = $2 RETURNING name';
      return (await database.forTenant(tenantId).query(text, [tenantId, name])).length > 0;
    },
  };
}

function toServerRow(row: Row): ServerRow {
  return {
    tenantId: toTenantId(row.tenant_id),
    id: toServerId(row.id),
    name: row.name,
    definition: row.definition,
    enabled: row.enabled,
    revision: row.revision,
  };
}
