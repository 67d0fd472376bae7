// The rows that hold something sealed, page by page, and their replacement by the same sealed anew: only over what
// was read, so that nothing newer is lost, and without a new version or revision.
import type {
  SealedAttempt,
  SealedClient,
  SealedCredential,
  SealedRowsStore,
  SealedTable,
} from '../credential/rotation-store.ts';
import type { Database } from './database.ts';
import { toServerId } from './ids.ts';
import { SEALED_COLUMNS, type SealedAttemptRow, toSealedAttempt } from './sign-in-attempts.ts';

interface CredentialRow {
  readonly server_id: string;
  readonly owner: string;
  readonly kind: 'secret' | 'grant';
  readonly binding: string;
  readonly version: string;
  readonly sealed: Buffer;
}

interface ClientRow {
  readonly server_id: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly method: string;
  readonly sealed: Buffer;
}

/** In two ranges, which an index finds. */
const NOT_FRESH = '(substring(sealed FROM 1 FOR 17) < $2 OR substring(sealed FROM 1 FOR 17) > $2)';

export function createSealedRowsStore(database: Database): SealedRowsStore {
  return {
    credentials: credentialsOf(database),
    clients: clientsOf(database),
    attempts: attemptsOf(database),
    listDefinitions: (tenantId, after, limit) =>
      database
        .forTenant(tenantId)
        .query<{ name: string; revision: string; definition: unknown }>(
          'SELECT name, revision, definition FROM servers WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3',
          [tenantId, after, limit],
        ),
    async replaceDefinition(tenantId, { name, revision }, resealed) {
      // Whatever else is changed there gives a new revision. Two nodes may come to it at once: the time always differs.
      const rows = await database.forTenant(tenantId).query(
        `UPDATE servers
         SET definition = $4, resealed_at = greatest(clock_timestamp(), resealed_at + interval '1 microsecond')
         WHERE tenant_id = $1 AND name = $2 AND revision = $3 RETURNING name`,
        [tenantId, name, revision, JSON.stringify(resealed)],
      );
      return rows.length > 0;
    },
    async findSignIn(tenantId) {
      const [row] = await database
        .forTenant(tenantId)
        .query<{ sign_in: unknown }>('SELECT sign_in FROM tenants WHERE id = $1', [tenantId]);
      return row?.sign_in;
    },
    async replaceSignIn(tenantId, from, to) {
      const rows = await database
        .forTenant(tenantId)
        .query('UPDATE tenants SET sign_in = $3 WHERE id = $1 AND sign_in = $2::jsonb RETURNING id', [
          tenantId,
          JSON.stringify(from),
          JSON.stringify(to),
        ]);
      return rows.length > 0;
    },
  };
}

function credentialsOf(database: Database): SealedTable<SealedCredential> {
  return {
    async list(tenantId, fresh, after, limit) {
      // Other kinds belong to a newer version, which knows what they are bound to.
      const rows = await database.forTenant(tenantId).query<CredentialRow>(
        `SELECT server_id, owner, kind, binding, version, sealed FROM credentials
         WHERE tenant_id = $1 AND ${NOT_FRESH} AND kind IN ('secret', 'grant') AND (server_id, owner) > ($3, $4)
         ORDER BY server_id, owner LIMIT $5`,
        [tenantId, fresh, after?.serverId ?? '', after?.owner ?? '', limit],
      );
      return rows.map(({ server_id, ...row }) => ({ ...row, serverId: toServerId(server_id) }));
    },
    async replace(tenantId, { serverId, owner, version, sealed }, resealed) {
      const rows = await database.forTenant(tenantId).query(
        `UPDATE credentials SET sealed = $6
         WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 AND version = $4 AND sealed = $5 RETURNING owner`,
        [tenantId, serverId, owner, version, sealed, resealed],
      );
      return rows.length > 0;
    },
  };
}

function clientsOf(database: Database): SealedTable<SealedClient> {
  return {
    async list(tenantId, fresh, after, limit) {
      const rows = await database.forTenant(tenantId).query<ClientRow>(
        `SELECT server_id, issuer, client_id, redirect_uri, method, sealed FROM oauth_clients
         WHERE tenant_id = $1 AND ${NOT_FRESH} AND client_id IS NOT NULL AND (server_id, issuer) > ($3, $4)
         ORDER BY server_id, issuer LIMIT $5`,
        [tenantId, fresh, after?.serverId ?? '', after?.issuer ?? '', limit],
      );
      return rows.map(({ server_id, issuer, client_id, redirect_uri, method, sealed }) => ({
        serverId: toServerId(server_id),
        issuer,
        clientId: client_id,
        redirectUri: redirect_uri,
        method,
        sealed,
      }));
    },
    async replace(tenantId, { serverId, issuer, sealed }, resealed) {
      const rows = await database.forTenant(tenantId).query(
        `UPDATE oauth_clients SET sealed = $5
         WHERE tenant_id = $1 AND server_id = $2 AND issuer = $3 AND sealed = $4 RETURNING issuer`,
        [tenantId, serverId, issuer, sealed, resealed],
      );
      return rows.length > 0;
    },
  };
}

function attemptsOf(database: Database): SealedTable<SealedAttempt> {
  return {
    async list(tenantId, fresh, after, limit) {
      const rows = await database.forTenant(tenantId).query<SealedAttemptRow>(
        `SELECT ${SEALED_COLUMNS} FROM sign_in_attempts
         WHERE tenant_id = $1 AND ${NOT_FRESH} AND state_hash > $3 ORDER BY state_hash LIMIT $4`,
        [tenantId, fresh, after?.stateHash ?? Buffer.alloc(0), limit],
      );
      return rows.map(toSealedAttempt);
    },
    async replace(tenantId, { stateHash, sealed }, resealed) {
      const rows = await database.forTenant(tenantId).query(
        `UPDATE sign_in_attempts SET sealed = $4
         WHERE tenant_id = $1 AND state_hash = $2 AND sealed = $3 RETURNING state_hash`,
        [tenantId, stateHash, sealed, resealed],
      );
      return rows.length > 0;
    },
  };
}
