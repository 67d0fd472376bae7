// What happened to shared state, on this node or another. Notices can be lost, so `resync` says:
// anything may have changed, read again.
import type { TenantId } from './id.ts';

export type Change =
  | { readonly kind: 'resync' }
  | { readonly kind: 'tenants' | 'issuers' | 'agent_keys' | 'data_keys'; readonly tenantId: TenantId }
  | { readonly kind: 'servers'; readonly tenantId: TenantId; readonly serverId: string }
  | { readonly kind: 'catalogs'; readonly tenantId: TenantId; readonly serverId: string; readonly owner: string }
  | { readonly kind: 'credentials'; readonly tenantId: TenantId; readonly serverId: string; readonly owner: string }
  /**
   * The person said no at the server's own sign-in: whoever waits for them need not wait any longer. Only
   * the trigger on sign_in_attempts says it; no node announces it.
   */
  | { readonly kind: 'sign_in_denied'; readonly tenantId: TenantId; readonly serverId: string; readonly owner: string };

export interface ChangeFeed {
  /** Hears every change, of this node too, in the order of commit; gives the way to stop. */
  subscribe(listener: (change: Change) => void): () => void;
}
