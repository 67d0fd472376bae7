// The scope_needs table: the scopes that a tool was refused for lack of, for each person and server.
import { firstScopes, MAX_TOOL_SCOPE_BYTES, MAX_TOOL_SCOPES, type ScopeStore } from '../credential/scope-store.ts';
import type { Database } from './database.ts';

export function createScopeStore(database: Database): ScopeStore {
  return {
    async add({ tenantId, serverId, owner }, tool, scopes, now) {
      const found = firstScopes([...new Set(scopes)], MAX_TOOL_SCOPES, MAX_TOOL_SCOPE_BYTES);
      // In one statement, so that of refusals at once none undoes another and none grows past the bounds.
      await database.forTenant(tenantId).query(
        `INSERT INTO scope_needs (tenant_id, server_id, owner, tool, scopes, found_at) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, server_id, owner, tool) DO UPDATE SET found_at = EXCLUDED.found_at,
           scopes = ARRAY(
             SELECT scope FROM (
               SELECT scope, row_number() OVER before AS place, sum(octet_length(scope) + 1) OVER before AS bytes
               FROM (
                 SELECT scope, min(place) AS place
                 FROM unnest(scope_needs.scopes || EXCLUDED.scopes) WITH ORDINALITY AS said (scope, place)
                 GROUP BY scope
               ) AS once WINDOW before AS (ORDER BY once.place)
             ) AS counted WHERE counted.place <= $7 AND bytes <= $8 ORDER BY counted.place
           )`,
        [tenantId, serverId, owner, tool, found, new Date(now), MAX_TOOL_SCOPES, MAX_TOOL_SCOPE_BYTES],
      );
    },
    async list({ tenantId, serverId, owner }) {
      const rows = await database.forTenant(tenantId).query<{ scope: string }>(
        `SELECT DISTINCT unnest(scopes) AS scope FROM scope_needs
         WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 ORDER BY 1`,
        [tenantId, serverId, owner],
      );
      return rows.map(({ scope }) => scope);
    },
    async forget(tenantId, serverId, owner) {
      const text =
        'DELETE FROM scope_needs WHERE tenant_id = $1 AND server_id = $2 AND ($3::text IS NULL OR owner = $3)';
      await database.forTenant(tenantId).query(text, [tenantId, serverId, owner ?? null]);
    },
  };
}
