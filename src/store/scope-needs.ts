// The scope_needs table.
import type { ScopeStore } from '../credential/scope-store.ts';
import type { Database } from './database.ts';

export function createScopeStore(database: Database): ScopeStore {
  return {
    async add({ tenantId, serverId, owner }, tool, scopes, now) {
      await database.query(
        `INSERT INTO scope_needs (tenant_id, server_id, owner, tool, scopes, found_at) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, server_id, owner, tool) DO UPDATE SET found_at = EXCLUDED.found_at,
           scopes = ARRAY(SELECT DISTINCT unnest(scope_needs.scopes || EXCLUDED.scopes) ORDER BY 1)`,
        [tenantId, serverId, owner, tool, scopes, new Date(now)],
      );
    },
    async list({ tenantId, serverId, owner }) {
      const rows = await database.query<{ scope: string }>(
        `SELECT DISTINCT unnest(scopes) AS scope FROM scope_needs
         WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 ORDER BY 1`,
        [tenantId, serverId, owner],
      );
      return rows.map(({ scope }) => scope);
    },
    async forget(tenantId, serverId, owner) {
      const text =
        'DELETE FROM scope_needs WHERE tenant_id = $1 AND server_id = $2 AND ($3::text IS NULL OR owner = $3)';
      await database.query(text, [tenantId, serverId, owner ?? null]);
    },
  };
}
