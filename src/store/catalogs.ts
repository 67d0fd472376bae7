// The catalogs table: tool lists as last found, for every node and across restarts.
import type { CatalogStore, FindText, KeptCatalog } from '../catalog/server-store.ts';
import type { Database, Scoped } from './database.ts';
import { toServerId, toTenantId } from './ids.ts';

interface CatalogHead {
  readonly tenant_id: string;
  readonly server_id: string;
  readonly owner: string;
  readonly binding: string;
  readonly found_at: Date;
  readonly stamp: string;
}

interface CatalogRow extends CatalogHead {
  readonly tools: string;
}

const COLUMNS = 'tenant_id, server_id, owner, tools, binding, found_at';
/** Each version of a row has a transaction of its own; after many years one may come again, at another time. */
const HEAD = "tenant_id, server_id, owner, binding, found_at, xmin::text || ' ' || found_at::text AS stamp";

export function createCatalogStore(database: Database): CatalogStore {
  return {
    async list(tenantId, known) {
      const scoped = database.forTenant(tenantId);
      const rows = await scoped.query<CatalogHead>(
        `SELECT ${HEAD} FROM catalogs WHERE tenant_id = $1 ORDER BY server_id, owner`,
        [tenantId],
      );
      const remembered = new Map(rows.map((head) => [head, textOf(head, known)]));
      const fresh = await readTexts(
        scoped,
        tenantId,
        rows.filter((head) => remembered.get(head) === undefined),
      );
      return rows.flatMap((head) => {
        const tools = remembered.get(head);
        const row = tools === undefined ? fresh.get(keyOf(head)) : { ...head, tools };
        return row === undefined ? [] : [toCatalog(row)];
      });
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

const keyOf = ({ server_id, owner }: CatalogHead): string => `${server_id}\u0000${owner}`;

const textOf = ({ server_id, owner, stamp }: CatalogHead, known: FindText): string | undefined =>
  known(toServerId(server_id), owner, stamp);

/** What was removed meanwhile is missing. */
async function readTexts(
  scoped: Scoped,
  tenantId: string,
  heads: readonly CatalogHead[],
): Promise<ReadonlyMap<string, CatalogRow>> {
  if (heads.length === 0) return new Map();
  const rows = await scoped.query<CatalogRow>(
    `SELECT ${HEAD}, tools FROM catalogs
     WHERE tenant_id = $1 AND (server_id, owner) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
    [tenantId, heads.map(({ server_id }) => server_id), heads.map(({ owner }) => owner)],
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

function toCatalog(row: CatalogRow): KeptCatalog {
  return {
    tenantId: toTenantId(row.tenant_id),
    serverId: toServerId(row.server_id),
    owner: row.owner,
    toolsJson: row.tools,
    binding: row.binding,
    foundAt: row.found_at.getTime(),
    stamp: row.stamp,
  };
}
