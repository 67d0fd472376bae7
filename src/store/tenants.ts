// The tenants table.
import type { SignIn, Tenant, TenantStore } from '../identity/tenant-store.ts';
import type { Database } from './database.ts';
import { toTenantId } from './ids.ts';
import { decodeCursor, toPage } from './page.ts';
import { parseLimits, parseSignIn } from './tenant-row.ts';

interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly sign_in: unknown;
  readonly gated_default: unknown;
  readonly limits: unknown;
}

const COLUMNS = 'id, name, sign_in, gated_default, limits';

export function createTenantStore(database: Database): TenantStore {
  return {
    async list(after, limit) {
      const [last] = after === undefined ? [''] : decodeCursor(after, 1);
      const rows = await database
        .within({ kind: 'operator' })
        .query<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id > $1 ORDER BY id LIMIT $2`, [last, limit + 1]);
      return toPage(rows.map(toTenant), limit, ({ id }) => [id]);
    },
    async find(id) {
      const text = `SELECT ${COLUMNS} FROM tenants WHERE id = $1`;
      const [row] = await database.forTenant(id).query<TenantRow>(text, [id]);
      return row && toTenant(row);
    },
    async create({ id, name, signIn, gatedDefault, limits }) {
      const [row] = await database
        .forTenant(id)
        .query<TenantRow>(
          `INSERT INTO tenants (${COLUMNS}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING RETURNING ${COLUMNS}`,
          [id, name, toJson<SignIn>(signIn), toJson(gatedDefault ?? null), toJson(limits)],
        );
      return row && toTenant(row);
    },
    async update(id, { name, signIn, gatedDefault, limits }) {
      const [row] = await database.forTenant(id).query<TenantRow>(
        `UPDATE tenants SET name = COALESCE($2, name), sign_in = COALESCE($3, sign_in),
           gated_default = COALESCE($4, gated_default), limits = COALESCE($5, limits)
         WHERE id = $1 RETURNING ${COLUMNS}`,
        [id, name, toJson(signIn), toJson(gatedDefault), toJson(limits)],
      );
      return row && toTenant(row);
    },
    async remove(id) {
      const text = 'DELETE FROM tenants WHERE id = $1 RETURNING id';
      return (await database.forTenant(id).query(text, [id])).length > 0;
    },
  };
}

/** Undefined stays undefined (SQL NULL, "leave it"); JSON null is a value. */
function toJson<T = unknown>(value: T | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function toTenant(row: TenantRow): Tenant {
  return {
    id: toTenantId(row.id),
    name: row.name,
    signIn: parseSignIn(row.sign_in),
    gatedDefault: row.gated_default,
    limits: parseLimits(row.limits),
  };
}
