// Port: how often a sign-in link was opened by a person it was not made for (T1). Filled by store/.
import type { TenantId } from '../shared/id.ts';

export interface TicketMismatchStore {
  /** One more, on whichever node; gives how many there are now. A ticket that is gone counts as 0. */
  count(tenantId: TenantId, ticketHash: Buffer): Promise<number>;
}
