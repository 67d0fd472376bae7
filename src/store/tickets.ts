// The tickets table: hashes of sign-in links, each good once.
import type { Ticket, TicketStore } from '../credential/ticket-store.ts';
import type { Database } from './database.ts';
import { toPrincipalId, toServerId, toTenantId } from './ids.ts';
import { provenBy } from './scope.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

interface TicketRow {
  readonly tenant_id: string;
  readonly hash: Buffer;
  readonly principal_id: string;
  readonly server_id: string;
  readonly binding: string;
  readonly challenge: string | null;
  readonly scopes: readonly string[];
  readonly expires_at: Date;
}

const COLUMNS = 'tenant_id, hash, principal_id, server_id, binding, challenge, scopes, expires_at';

export function createTicketStore(database: Database): TicketStore {
  return {
    async create({ tenantId, hash, principalId, serverId, binding, challenge, scopes, expiresAt }) {
      await database.forTenant(tenantId).transaction(async (rows) => {
        // Sweeps on the way: who asks for links is who leaves old ones behind.
        const old = 'DELETE FROM tickets WHERE tenant_id = $1 AND principal_id = $2 AND expires_at < $3';
        await rows.query(old, [tenantId, principalId, new Date(expiresAt - DAY_MS)]);
        const text = `INSERT INTO tickets (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
        const until = new Date(expiresAt);
        await rows.query(text, [tenantId, hash, principalId, serverId, binding, challenge ?? null, scopes, until]);
      });
    },
    async find(hash, now) {
      const [row] = await database
        .within(provenBy(hash))
        .query<TicketRow>(`SELECT ${COLUMNS} FROM tickets WHERE hash = $1 AND used_at IS NULL AND expires_at > $2`, [
          hash,
          new Date(now),
        ]);
      return row && toTicket(row);
    },
    async consume(hash, now, by) {
      // The link shows whose it is; with that it is used, in its tenant.
      const [shown] = await database
        .within(provenBy(hash))
        .query<Pick<TicketRow, 'tenant_id'>>('SELECT tenant_id FROM tickets WHERE hash = $1', [hash]);
      if (shown === undefined) return undefined;
      // Check and mark in one statement, so that of two browsers with one link only one goes on.
      const [row] = await database.forTenant(toTenantId(shown.tenant_id)).query<TicketRow>(
        `UPDATE tickets SET used_at = COALESCE(used_at, $3), used_by = $4
         WHERE tenant_id = $1 AND hash = $2 AND expires_at > $3 AND (used_at IS NULL OR used_by = $4) RETURNING ${COLUMNS}`,
        [shown.tenant_id, hash, new Date(now), by ?? null],
      );
      return row && toTicket(row);
    },
    async countOpen(tenantId, principalId, now) {
      const [row] = await database.forTenant(tenantId).query<{ open: number }>(
        `SELECT count(*)::int AS open FROM tickets
         WHERE tenant_id = $1 AND principal_id = $2 AND used_at IS NULL AND expires_at > $3`,
        [tenantId, principalId, new Date(now)],
      );
      return row?.open ?? 0;
    },
  };
}

function toTicket(row: TicketRow): Ticket {
  return {
    tenantId: toTenantId(row.tenant_id),
    hash: row.hash,
    principalId: toPrincipalId(row.principal_id),
    serverId: toServerId(row.server_id),
    binding: row.binding,
    challenge: row.challenge ?? undefined,
    scopes: row.scopes,
    expiresAt: row.expires_at.getTime(),
  };
}
