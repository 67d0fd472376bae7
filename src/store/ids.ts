// The store is where ids come back to life: what a key column holds was checked when it went in.
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';

/** From a column that references `tenants.id`, whose form the table itself checks. */
export const toTenantId = (column: string): TenantId => column as TenantId;

/** From `servers.id`, made by the database, or a `server_id` column, written from a ServerId. */
export const toServerId = (column: string): ServerId => column as ServerId;

/** From a `principal_id` column, written from a PrincipalId. */
export const toPrincipalId = (column: string): PrincipalId => column as PrincipalId;
