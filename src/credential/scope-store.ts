// Port: scopes that a person's calls were found to lack, by tool. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { GrantKey } from './renewal-store.ts';

export interface ScopeStore {
  /** Adds to what is known of the tool. */
  add(key: GrantKey, tool: string, scopes: readonly string[], now: number): Promise<void>;
  /** Of all tools of this owner's server, each scope once. */
  list(key: GrantKey): Promise<readonly string[]>;
  /** Of all owners, unless one is named. */
  forget(tenantId: TenantId, serverId: ServerId, owner?: string): Promise<void>;
}
