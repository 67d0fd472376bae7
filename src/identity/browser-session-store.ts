// Port: browser sessions of people who were proved. No agent is ever let in by one. Filled by store/.
import type { PrincipalId, TenantId } from '../shared/id.ts';

export interface BrowserSession {
  readonly tenantId: TenantId;
  /** SHA-256 of the cookie; the cookie itself is only in the browser. */
  readonly hash: Buffer;
  /** All names of the one person; the first is the one that new sign-ins are made for. */
  readonly principals: readonly PrincipalId[];
  /** As `proofOf` gives it for the tenant's way of signing in at that time. */
  readonly proof: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface BrowserSessionStore {
  create(session: BrowserSession, now: number): Promise<void>;
  /** Unexpired at `now`, else undefined. */
  find(hash: Buffer, now: number): Promise<BrowserSession | undefined>;
  remove(hash: Buffer): Promise<void>;
}
