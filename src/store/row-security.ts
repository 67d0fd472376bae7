// Looks, before anything is served, whether the database keeps tenants apart from us too: a role or a table that
// is not bound by its policies would make every one of our mistakes everybody's (T21).
import { OwnError } from '../shared/errors.ts';
import type { Database } from './database.ts';
import { policyFault } from './policies.ts';
import type { Queryable } from './session.ts';
import { wayRoundFault } from './ways-round.ts';

interface RoleRow {
  readonly role: string;
  readonly is_superuser: boolean;
  readonly bypasses: boolean;
  readonly may_become: readonly string[];
}

interface TableRow {
  readonly name: string;
  readonly is_owned: boolean;
  readonly is_ours: boolean;
  readonly is_forced: boolean;
  readonly has_policy: boolean;
  readonly is_readable: boolean;
}

const MANUAL = 'docs/reference/database-roles.md';

/** Rejects with one sentence for the first thing that is wrong, and what to do about it. */
export async function requireRowSecurity(database: Database): Promise<void> {
  await database.within({ kind: 'operator' }).transaction(async (catalogue) => {
    const fault =
      (await roleFault(catalogue)) ??
      (await tableFault(catalogue)) ??
      (await policyFault(catalogue)) ??
      (await wayRoundFault(catalogue));
    if (fault !== undefined) throw new OwnError(`${fault} (${MANUAL})`);
  });
}

async function roleFault(catalogue: Queryable): Promise<string | undefined> {
  const [row] = await catalogue.query<RoleRow>(
    `SELECT quote_ident(rolname) AS role, rolsuper AS is_superuser, rolbypassrls AS bypasses, ARRAY(
       SELECT quote_ident(stronger.rolname) FROM pg_roles AS stronger
       WHERE (stronger.rolsuper OR stronger.rolbypassrls) AND pg_has_role(stronger.oid, 'MEMBER')
     ) AS may_become FROM pg_roles WHERE rolname = current_user`,
  );
  if (row === undefined) return 'The role of the database connection cannot be seen in pg_roles';
  const { role, is_superuser, bypasses, may_become } = row;
  if (is_superuser) return `The database role ${role} is a superuser: run ALTER ROLE ${role} NOSUPERUSER`;
  if (bypasses) return `The database role ${role} bypasses row-level security: run ALTER ROLE ${role} NOBYPASSRLS`;
  const [stronger] = may_become;
  if (stronger === undefined) return undefined;
  return `The database role ${role} may become ${stronger}, which no policy binds: run REVOKE ${stronger} FROM ${role}`;
}

async function tableFault(catalogue: Queryable): Promise<string | undefined> {
  const tables = await catalogue.query<TableRow>(
    `SELECT quote_ident(relname) AS name, pg_has_role(relowner, 'MEMBER') AS is_owned, relrowsecurity AND relforcerowsecurity AS is_forced,
       relname IN ('tenants', 'service_keys') OR EXISTS (
         SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id' AND NOT attisdropped
       ) AS is_ours,
       EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid) AS has_policy,
       has_table_privilege(c.oid, 'SELECT') AS is_readable
     FROM pg_class AS c
     WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid)
       AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
     ORDER BY relname`,
  );
  // A check that saw nothing has found nothing out.
  if (!tables.some(({ name }) => name === 'tenants'))
    return 'The tables are not there, or not in the search path: run "keybearer migrate"';
  const owned = tables.find(({ is_owned }) => is_owned);
  if (owned !== undefined)
    return `The service's role owns the table ${owned.name}, so it could lift its policies: give the table to another owner`;
  const ours = tables.filter(({ is_ours }) => is_ours);
  const unforced = ours.find(({ is_forced }) => !is_forced);
  if (unforced !== undefined)
    return `Row-level security is not forced on the table ${unforced.name}: run ALTER TABLE ${unforced.name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`;
  const open = ours.find(({ has_policy }) => !has_policy);
  if (open !== undefined) return `The table ${open.name} has no policy: make those of migrations/ again`;
  const closed = ours.find(({ is_readable }) => !is_readable);
  if (closed !== undefined)
    return `The service's role may not read the table ${closed.name}: make the GRANTs of migrations/ again`;
  return undefined;
}
