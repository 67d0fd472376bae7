// The ticket_mismatches table: wrong people at a link, counted for all nodes; it goes with the ticket.
import type { TicketMismatchStore } from '../identity/ticket-mismatch-store.ts';
import type { Database } from './database.ts';

export function createTicketMismatchStore(database: Database): TicketMismatchStore {
  return {
    async count(tenantId, ticketHash) {
      const [row] = await database.forTenant(tenantId).query<{ times: number }>(
        `INSERT INTO ticket_mismatches (tenant_id, ticket_hash)
         SELECT tenant_id, hash FROM tickets WHERE tenant_id = $1 AND hash = $2
         ON CONFLICT (tenant_id, ticket_hash) DO UPDATE SET times = ticket_mismatches.times + 1
         RETURNING times`,
        [tenantId, ticketHash],
      );
      return row?.times ?? 0;
    },
  };
}
