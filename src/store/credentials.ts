// The credentials table: sealed secrets, which nothing here can open.
import {
  type CredentialKind,
  type CredentialStore,
  credentialKey,
  type StoredCredential,
} from '../credential/credential-store.ts';
import { ProxyError } from '../shared/errors.ts';
import { isJsonObject } from '../wire/reply.ts';
import type { Database } from './database.ts';
import { toServerId, toTenantId } from './ids.ts';
import { decodeCursor, toPage } from './page.ts';

interface CredentialRow {
  readonly tenant_id: string;
  readonly server_id: string;
  readonly owner: string;
  readonly kind: string;
  readonly version: string;
  readonly binding: string;
  readonly sealed: Buffer;
  readonly details: unknown;
  readonly updated_at: Date;
}

const COLUMNS = 'tenant_id, server_id, owner, kind, version, binding, sealed, details, updated_at';

const KINDS: readonly CredentialKind[] = ['secret', 'grant'];

export function createCredentialStore(database: Database): CredentialStore {
  return {
    async find(tenantId, serverId, owner) {
      const [row] = await database
        .forTenant(tenantId)
        .query<CredentialRow>(
          `SELECT ${COLUMNS} FROM credentials WHERE tenant_id = $1 AND server_id = $2 AND owner = $3`,
          [tenantId, serverId, owner],
        );
      return row && toCredential(row);
    },
    put: (credential, now) => put(database, credential, now),
    async remove(tenantId, serverId, owner) {
      const [row] = await database
        .forTenant(tenantId)
        .query<CredentialRow>(
          `DELETE FROM credentials WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 RETURNING ${COLUMNS}`,
          [tenantId, serverId, owner],
        );
      // What this version does not know it can revoke nowhere; it is gone all the same.
      return row && toCredential({ ...row, kind: KINDS.find((known) => known === row.kind) ?? 'secret' });
    },
    replace: (credential, version, now) => replace(database, credential, version, now),
    async removeOthers(tenantId, serverId, binding, until) {
      const text =
        'DELETE FROM credentials WHERE tenant_id = $1 AND server_id = $2 AND binding <> $3 AND updated_at <= $4';
      await database.forTenant(tenantId).query(text, [tenantId, serverId, binding, new Date(until)]);
    },
    async listOf(tenantId, owner) {
      const rows = await database
        .forTenant(tenantId)
        .query<CredentialRow>(
          `SELECT ${COLUMNS} FROM credentials WHERE tenant_id = $1 AND owner = $2 ORDER BY server_id`,
          [tenantId, owner],
        );
      return rows.map(toCredential);
    },
    async list(tenantId, after, limit) {
      const [serverId, owner] = after === undefined ? ['', ''] : decodeCursor(after, 2);
      const rows = await database.forTenant(tenantId).query<CredentialRow>(
        `SELECT ${COLUMNS} FROM credentials
         WHERE tenant_id = $1 AND (server_id, owner) > ($2, $3) ORDER BY server_id, owner LIMIT $4`,
        [tenantId, serverId, owner, limit + 1],
      );
      return toPage(rows.map(toCredential), limit, (credential) => [credential.serverId, credential.owner]);
    },
    async versions(tenantId, keys) {
      if (keys.length === 0) return new Map();
      const rows = await database
        .forTenant(tenantId)
        .query<Pick<CredentialRow, 'tenant_id' | 'server_id' | 'owner' | 'version'>>(
          `SELECT tenant_id, server_id, owner, version FROM credentials
           JOIN unnest($2::text[], $3::text[]) AS asked (server_id, owner) USING (server_id, owner) WHERE tenant_id = $1`,
          [tenantId, keys.map(({ serverId }) => serverId), keys.map(({ owner }) => owner)],
        );
      return new Map(rows.map((row) => [credentialKey(toKey(row)), row.version]));
    },
  };
}

type NewCredential = Parameters<CredentialStore['put']>[0];

const NEW =
  '(tenant_id, server_id, owner, kind, binding, sealed, details, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)';

const RENEWED =
  'kind = EXCLUDED.kind, version = EXCLUDED.version, binding = EXCLUDED.binding, sealed = EXCLUDED.sealed, details = EXCLUDED.details, updated_at = EXCLUDED.updated_at';

function valuesOf(credential: NewCredential, now: number): readonly unknown[] {
  const { tenantId, serverId, owner, kind, binding, sealed, details } = credential;
  return [tenantId, serverId, owner, kind, binding, sealed, JSON.stringify(details), new Date(now)];
}

async function put(database: Database, credential: NewCredential, now: number): Promise<string> {
  const text = `INSERT INTO credentials ${NEW}
     ON CONFLICT (tenant_id, server_id, owner) DO UPDATE SET ${RENEWED} RETURNING version`;
  const rows = database.forTenant(credential.tenantId);
  const [row] = await rows.query<Pick<CredentialRow, 'version'>>(text, valuesOf(credential, now));
  if (row === undefined) throw new ProxyError('internal', 'The credential was not stored.');
  return row.version;
}

async function replace(
  database: Database,
  credential: NewCredential,
  version: string | undefined,
  now: number,
): Promise<string | undefined> {
  const values = valuesOf(credential, now);
  const rows = database.forTenant(credential.tenantId);
  const [row] =
    version === undefined
      ? await rows.query<Pick<CredentialRow, 'version'>>(
          `INSERT INTO credentials ${NEW}
           ON CONFLICT (tenant_id, server_id, owner) DO UPDATE SET ${RENEWED} WHERE credentials.binding <> EXCLUDED.binding
           RETURNING version`,
          values,
        )
      : await rows.query<Pick<CredentialRow, 'version'>>(
          `UPDATE credentials SET kind = $4, version = nextval('credential_versions'), binding = $5, sealed = $6, details = $7, updated_at = $8
           WHERE tenant_id = $1 AND server_id = $2 AND owner = $3 AND version = $9 RETURNING version`,
          [...values, version],
        );
  return row?.version;
}

function toKey(
  row: Pick<CredentialRow, 'tenant_id' | 'server_id' | 'owner'>,
): Pick<StoredCredential, 'tenantId' | 'serverId' | 'owner'> {
  return { tenantId: toTenantId(row.tenant_id), serverId: toServerId(row.server_id), owner: row.owner };
}

function toCredential(row: CredentialRow): StoredCredential {
  const { version, binding, sealed } = row;
  const kind = KINDS.find((known) => known === row.kind);
  // A newer version of the service may know kinds that this one cannot use.
  if (kind === undefined) throw new ProxyError('internal', 'A stored credential is of an unknown kind.');
  const details = isJsonObject(row.details) ? row.details : {};
  return { ...toKey(row), kind, version, binding, sealed, details, updatedAt: row.updated_at.getTime() };
}
