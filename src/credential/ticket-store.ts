// Port: sign-in tickets. A ticket grants nothing; it only says what a link is about. Filled by store/.
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';

export interface Ticket {
  readonly tenantId: TenantId;
  /** SHA-256 of the ticket text; the text itself is only in the link. */
  readonly hash: Buffer;
  readonly principalId: PrincipalId;
  readonly serverId: ServerId;
  /** The server's credential binding when the link was made; a later edit makes the link stale. */
  readonly binding: string;
  /** The WWW-Authenticate that the server refused a call with, where there was one: it says where to sign in. */
  readonly challenge: string | undefined;
  /** Asked for beside what is asked for anyway: what a call was refused for lack of. */
  readonly scopes: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface TicketStore {
  create(ticket: Ticket): Promise<void>;
  /** Unused and unexpired at `now`, else undefined. */
  find(hash: Buffer, now: number): Promise<Ticket | undefined>;
  /**
   * Marks it used, in one statement; undefined when it was used, expired or never there. Whoever used it as
   * `by` may do so again.
   */
  consume(hash: Buffer, now: number, by?: Buffer): Promise<Ticket | undefined>;
  /** Open tickets of one principal, over all servers. */
  countOpen(tenantId: TenantId, principalId: PrincipalId, now: number): Promise<number>;
}
