// Port: attempts to sign in at an authorization server, from the redirect to the callback. Filled by store/.
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';

export type AttemptState = 'open' | 'taken' | 'connected' | 'denied' | 'failed';

export interface StoredAttempt {
  readonly tenantId: TenantId;
  /** SHA-256 of the `state` parameter. */
  readonly stateHash: Buffer;
  /** Of the redirect URI that was sent; a callback under another one is not this attempt's (D8). */
  readonly contextId: string;
  readonly principalId: PrincipalId;
  readonly serverId: ServerId;
  readonly binding: string;
  readonly browserHash: Buffer;
  /** Verifier, place, client and scopes. */
  readonly sealed: Buffer;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly state: AttemptState;
}

export interface AttemptStore {
  create(attempt: Omit<StoredAttempt, 'state'>): Promise<void>;
  /** In whatever state; open ones only while they last. */
  find(stateHash: Buffer, now: number): Promise<StoredAttempt | undefined>;
  /** open → taken, in one statement; false when it was not open or is too old (T4). */
  take(tenantId: TenantId, stateHash: Buffer, now: number): Promise<boolean>;
  end(tenantId: TenantId, stateHash: Buffer, state: 'connected' | 'denied' | 'failed'): Promise<void>;
  /** Open ones of one person. */
  countOpen(tenantId: TenantId, principalId: PrincipalId, now: number): Promise<number>;
}
