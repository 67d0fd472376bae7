// Port: the tenants' data keys, wrapped; one of each tenant is current. Filled by store/.
import type { TenantId } from '../shared/id.ts';

export interface WrappedDataKey {
  readonly id: string;
  readonly wrapped: Buffer;
  readonly masterKeyId: string;
}

export interface DataKeyStore {
  /** Oldest first. */
  list(tenantId: TenantId): Promise<readonly WrappedDataKey[]>;
  findCurrent(tenantId: TenantId): Promise<WrappedDataKey | undefined>;
  /** Inserts unless the tenant has a current one already; gives whichever is current afterwards. */
  ensure(tenantId: TenantId, key: WrappedDataKey): Promise<WrappedDataKey>;
}
