// Port: credentials at rest, sealed. Filled by store/. Nothing here can open one; vault.ts does.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { JsonObject } from '../wire/reply.ts';

/** `secret`: a pasted key. `grant`: what an OAuth sign-in gave (grant.ts). */
export type CredentialKind = 'secret' | 'grant';

export interface StoredCredential {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  /** As `ownerKey` gives it. */
  readonly owner: string;
  readonly kind: CredentialKind;
  /** Grows with each write, never reused for the same key. */
  readonly version: string;
  /** What it may be sent to; a credential whose binding differs from the server's is not used. */
  readonly binding: string;
  readonly sealed: Buffer;
  /** What may be shown: issuer, scopes, expiry. */
  readonly details: JsonObject;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

export interface CredentialStore {
  find(tenantId: TenantId, serverId: ServerId, owner: string): Promise<StoredCredential | undefined>;
  /** Replaces what is there; gives the new version. */
  put(credential: Omit<StoredCredential, 'version' | 'updatedAt'>, now: number): Promise<string>;
  /**
   * As `put`, only while `version` is still the one that is there (undefined: only while none of this binding
   * is), so that a renewal never overwrites a newer sign-in. Undefined when it is not.
   */
  replace(
    credential: Omit<StoredCredential, 'version' | 'updatedAt'>,
    version: string | undefined,
    now: number,
  ): Promise<string | undefined>;
  /** Gives what was there. */
  remove(tenantId: TenantId, serverId: ServerId, owner: string): Promise<StoredCredential | undefined>;
  /**
   * Removes what is bound to anything but `binding`: the server was edited, and keys of before are dead (T11).
   * Not what was kept after `until` (epoch milliseconds): by then it may have been edited again.
   */
  removeOthers(tenantId: TenantId, serverId: ServerId, binding: string, until: number): Promise<void>;
  /** Of one owner, all servers. */
  listOf(tenantId: TenantId, owner: string): Promise<readonly StoredCredential[]>;
  /** By (serverId, owner), after the cursor; at most `limit`. */
  list(
    tenantId: TenantId,
    after: string | undefined,
    limit: number,
  ): Promise<{ items: readonly StoredCredential[]; next: string | undefined }>;
  /** Current versions of the asked keys, those that exist, by `credentialKey`. */
  versions(
    tenantId: TenantId,
    keys: readonly { serverId: ServerId; owner: string }[],
  ): Promise<ReadonlyMap<string, string>>;
}

/** A NUL cannot occur in any part, so two different keys never meet. */
export function credentialKey(key: { tenantId: TenantId; serverId: ServerId; owner: string }): string {
  return `${key.tenantId}\u0000${key.serverId}\u0000${key.owner}`;
}
