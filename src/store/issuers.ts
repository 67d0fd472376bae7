// The issuers table.
import type { Issuer, IssuerStore } from '../identity/tenant-store.ts';
import type { Database } from './database.ts';
import { toTenantId } from './ids.ts';
import { parseJwks } from './tenant-row.ts';

interface IssuerRow {
  readonly tenant_id: string;
  readonly issuer: string;
  readonly jwks_uri: string | null;
  readonly jwks: unknown;
  readonly audience: string;
  readonly principal_claim: string;
  readonly tenant_claim: string | null;
  readonly algorithms: readonly string[];
}

const COLUMNS = 'tenant_id, issuer, jwks_uri, jwks, audience, principal_claim, tenant_claim, algorithms';

export function createIssuerStore(database: Database): IssuerStore {
  return {
    async list(tenantId) {
      const rows = await database
        .forTenant(tenantId)
        .query<IssuerRow>(`SELECT ${COLUMNS} FROM issuers WHERE tenant_id = $1 ORDER BY issuer`, [tenantId]);
      return rows.map(toIssuer);
    },
    async findByIssuer(issuer) {
      // The text comes from a token nobody has verified yet; no row can hold a NUL.
      if (issuer.includes('\u0000')) return [];
      const rows = await database
        .within({ kind: 'issuer', issuer })
        .query<IssuerRow>(`SELECT ${COLUMNS} FROM issuers WHERE issuer = $1 ORDER BY tenant_id`, [issuer]);
      return rows.map(toIssuer);
    },
    async put({ tenantId, issuer, jwksUri, jwks, audience, principalClaim, tenantClaim, algorithms }) {
      await database.forTenant(tenantId).query(
        `INSERT INTO issuers (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (tenant_id, issuer) DO UPDATE SET jwks_uri = EXCLUDED.jwks_uri, jwks = EXCLUDED.jwks,
           audience = EXCLUDED.audience, principal_claim = EXCLUDED.principal_claim,
           tenant_claim = EXCLUDED.tenant_claim, algorithms = EXCLUDED.algorithms`,
        [
          tenantId,
          issuer,
          jwksUri,
          jwks === undefined ? undefined : JSON.stringify(jwks),
          audience,
          principalClaim,
          tenantClaim,
          algorithms,
        ],
      );
    },
    async remove(tenantId, issuer) {
      const text = 'DELETE FROM issuers WHERE tenant_id = $1 AND issuer = $2 RETURNING issuer';
      return (await database.forTenant(tenantId).query(text, [tenantId, issuer])).length > 0;
    },
  };
}

function toIssuer(row: IssuerRow): Issuer {
  return {
    tenantId: toTenantId(row.tenant_id),
    issuer: row.issuer,
    jwksUri: row.jwks_uri ?? undefined,
    jwks: parseJwks(row.jwks),
    audience: row.audience,
    principalClaim: row.principal_claim,
    tenantClaim: row.tenant_claim ?? undefined,
    algorithms: row.algorithms,
  };
}
