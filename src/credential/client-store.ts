// Port: clients that we registered at authorization servers, and who is registering one now. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';

/** Never shared between tenants or servers: each has its own redirect URI (T2, D8). */
export interface ClientKey {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  readonly issuer: string;
}

export interface StoredClient {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post';
  /** Undefined for a public client. */
  readonly sealed: Buffer | undefined;
  /** Epoch milliseconds. */
  readonly secretExpiresAt: number | undefined;
  /** The server said that it knows it no more. */
  readonly isOver: boolean;
}

export interface ClientStore {
  find(key: ClientKey): Promise<StoredClient | undefined>;
  /** One statement; false while another holder's lease lasts, by the store's clock (as in renewal-store.ts). */
  acquire(key: ClientKey, holder: string, leaseMs: number): Promise<boolean>;
  /** Keeps what the registration gave, if any, and gives the lease back; nothing when it passed to another. */
  release(key: ClientKey, holder: string, client: Omit<StoredClient, 'isOver'> | undefined): Promise<void>;
  /** Marks the registration as over if it still is this one; false when none of that id was kept. */
  forget(key: ClientKey, clientId: string): Promise<boolean>;
}
