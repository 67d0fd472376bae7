// The agent_keys table: hashes of keys, never keys.
import type { AgentKey, AgentKeyStore } from '../identity/tenant-store.ts';
import type { Database } from './database.ts';
import { toTenantId } from './ids.ts';
import { provenBy } from './scope.ts';

interface AgentKeyRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly name: string;
  readonly key_hash: Buffer;
  readonly principal: string | null;
  readonly acts_for_anyone: boolean;
  readonly may_act_for: readonly string[];
  readonly scopes: readonly string[];
  readonly expires_at: Date | null;
  readonly created_at: Date;
}

const COLUMNS =
  'tenant_id, id, name, key_hash, principal, acts_for_anyone, may_act_for, scopes, expires_at, created_at';

export function createAgentKeyStore(database: Database): AgentKeyStore {
  return {
    async list(tenantId) {
      const rows = await database
        .forTenant(tenantId)
        .query<AgentKeyRow>(`SELECT ${COLUMNS} FROM agent_keys WHERE tenant_id = $1 ORDER BY created_at, id`, [
          tenantId,
        ]);
      return rows.map(toAgentKey);
    },
    async findByHash(keyHash) {
      const [row] = await database
        .within(provenBy(keyHash))
        .query<AgentKeyRow>(`SELECT ${COLUMNS} FROM agent_keys WHERE key_hash = $1`, [keyHash]);
      return row && toAgentKey(row);
    },
    async create(key) {
      const text = `INSERT INTO agent_keys (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
      await database
        .forTenant(key.tenantId)
        .query(text, [
          key.tenantId,
          key.id,
          key.name,
          key.keyHash,
          key.principal,
          key.mayActFor === '*',
          key.mayActFor === '*' ? [] : key.mayActFor,
          key.scopes,
          key.expiresAt === undefined ? undefined : new Date(key.expiresAt),
          new Date(key.createdAt),
        ]);
    },
    async remove(tenantId, id) {
      const text = 'DELETE FROM agent_keys WHERE tenant_id = $1 AND id = $2 RETURNING id';
      return (await database.forTenant(tenantId).query(text, [tenantId, id])).length > 0;
    },
  };
}

function toAgentKey(row: AgentKeyRow): AgentKey {
  return {
    tenantId: toTenantId(row.tenant_id),
    id: row.id,
    name: row.name,
    keyHash: row.key_hash,
    principal: row.principal ?? undefined,
    mayActFor: row.acts_for_anyone ? '*' : row.may_act_for,
    scopes: row.scopes,
    expiresAt: row.expires_at?.getTime(),
    createdAt: row.created_at.getTime(),
  };
}
