// The renewals table: leases on grants. A lease runs by the database's clock, which is one for all nodes; what is
// said about the grant has the times of the node that said it.
import { credentialKey } from '../credential/credential-store.ts';
import type { GrantKey, RenewalStore } from '../credential/renewal-store.ts';
import type { Database } from './database.ts';
import { toServerId, toTenantId } from './ids.ts';

interface RenewalRow {
  readonly version: string | null;
  readonly spent: boolean;
  readonly refusals: number;
  readonly failures: number;
  readonly retry_at: Date | null;
  readonly renewed_at: Date | null;
}

interface SpentRow {
  readonly tenant_id: string;
  readonly server_id: string;
  readonly owner: string;
}

const keyOf = ({ tenantId, serverId, owner }: GrantKey): readonly string[] => [tenantId, serverId, owner];

export function createRenewalStore(database: Database): RenewalStore {
  return {
    async acquire(key, holder, leaseMs) {
      const [row] = await database.forTenant(key.tenantId).query<RenewalRow>(
        `INSERT INTO renewals (tenant_id, server_id, owner, holder, until) VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
         ON CONFLICT (tenant_id, server_id, owner) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
         WHERE renewals.holder IS NULL OR renewals.until <= clock_timestamp()
         RETURNING version, spent, refusals, failures, retry_at, renewed_at`,
        [...keyOf(key), holder, leaseMs],
      );
      if (row === undefined) return undefined;
      return {
        state: {
          version: row.version ?? undefined,
          spent: row.spent,
          refusals: row.refusals,
          failures: row.failures,
          retryAt: row.retry_at?.getTime(),
        },
        renewedAt: row.renewed_at?.getTime(),
      };
    },
    async release(key, holder, { version, spent, refusals, failures, retryAt, renewedAt }) {
      await database.forTenant(key.tenantId).query(
        `UPDATE renewals SET holder = NULL, until = clock_timestamp(), version = $5, spent = $6, refusals = $7, failures = $8, retry_at = $9,
           renewed_at = COALESCE($10, renewed_at)
         WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 AND holder = $4`,
        [
          ...keyOf(key),
          holder,
          version ?? null,
          spent,
          refusals,
          failures,
          retryAt === undefined ? null : new Date(retryAt),
          renewedAt === undefined ? null : new Date(renewedAt),
        ],
      );
    },
    async spentAmong(tenantId, versions) {
      if (versions.length === 0) return new Set();
      const rows = await database.forTenant(tenantId).query<SpentRow>(
        `SELECT tenant_id, server_id, owner FROM renewals
         JOIN unnest($2::text[], $3::text[], $4::text[]) AS asked (server_id, owner, version)
           USING (server_id, owner, version)
         WHERE tenant_id = $1 AND spent`,
        [
          tenantId,
          versions.map(({ serverId }) => serverId),
          versions.map(({ owner }) => owner),
          versions.map(({ version }) => version),
        ],
      );
      return new Set(
        rows.map(({ tenant_id, server_id, owner }) =>
          credentialKey({ tenantId: toTenantId(tenant_id), serverId: toServerId(server_id), owner }),
        ),
      );
    },
  };
}
