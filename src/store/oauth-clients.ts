// The oauth_clients table: one registration for each tenant, server and issuer, made by one node at a time.
import type { ClientKey, ClientStore, StoredClient } from '../credential/client-store.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Database } from './database.ts';

interface ClientRow {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly method: string;
  readonly sealed: Buffer | null;
  readonly secret_expires_at: Date | null;
  readonly is_over: boolean;
}

const METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

const keyOf = ({ tenantId, serverId, issuer }: ClientKey): readonly string[] => [tenantId, serverId, issuer];

export function createClientStore(database: Database): ClientStore {
  return {
    async find(key) {
      const [row] = await database.forTenant(key.tenantId).query<ClientRow>(
        `SELECT client_id, redirect_uri, method, sealed, secret_expires_at, is_over FROM oauth_clients
         WHERE tenant_id = $1 AND server_id = $2 AND issuer = $3 AND client_id IS NOT NULL`,
        keyOf(key),
      );
      return row && toClient(row);
    },
    async acquire(key, holder, leaseMs) {
      const rows = await database.forTenant(key.tenantId).query(
        `INSERT INTO oauth_clients (tenant_id, server_id, issuer, holder, until) VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
         ON CONFLICT (tenant_id, server_id, issuer) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
         WHERE oauth_clients.holder IS NULL OR oauth_clients.until <= clock_timestamp()
         RETURNING issuer`,
        [...keyOf(key), holder, leaseMs],
      );
      return rows.length > 0;
    },
    async release(key, holder, client) {
      const held = 'tenant_id = $1 AND server_id = $2 AND issuer = $3 AND holder = $4';
      if (client === undefined) {
        const text = `UPDATE oauth_clients SET holder = NULL, until = clock_timestamp() WHERE ${held}`;
        await database.forTenant(key.tenantId).query(text, [...keyOf(key), holder]);
        return;
      }
      const { clientId, redirectUri, method, sealed, secretExpiresAt } = client;
      await database.forTenant(key.tenantId).query(
        `UPDATE oauth_clients SET holder = NULL, until = clock_timestamp(), client_id = $5, redirect_uri = $6, method = $7, sealed = $8, secret_expires_at = $9, is_over = false
         WHERE ${held}`,
        [
          ...keyOf(key),
          holder,
          clientId,
          redirectUri,
          method,
          sealed ?? null,
          secretExpiresAt === undefined ? null : new Date(secretExpiresAt),
        ],
      );
    },
    async forget(key, clientId) {
      const rows = await database.forTenant(key.tenantId).query(
        `UPDATE oauth_clients SET is_over = true
         WHERE tenant_id = $1 AND server_id = $2 AND issuer = $3 AND client_id = $4 RETURNING issuer`,
        [...keyOf(key), clientId],
      );
      return rows.length > 0;
    },
  };
}

function toClient(row: ClientRow): StoredClient {
  const method = METHODS.find((known) => known === row.method);
  if (method === undefined) throw new ProxyError('internal', 'A stored client is of an unknown kind.');
  return {
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    method,
    sealed: row.sealed ?? undefined,
    secretExpiresAt: row.secret_expires_at?.getTime(),
    isOver: row.is_over,
  };
}
