// Whose tokens are taken on the route of a tenant, for the documents that tell agents where to get one.
import { parseTenantId } from '../shared/id.ts';
import type { IssuerStore } from './tenant-store.ts';

/** Gives none for a route that names no tenant, or one that is not there. */
export function createIssuersOf(issuers: Pick<IssuerStore, 'list'>) {
  return async (tenant: string | undefined): Promise<readonly string[]> => {
    const tenantId = tenant === undefined ? undefined : parseTenantId(tenant);
    return tenantId === undefined ? [] : (await issuers.list(tenantId)).map(({ issuer }) => issuer);
  };
}
