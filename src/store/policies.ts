// Policies add up: one that was added by hand opens a table whatever the others say. So those that are there have to
// be those of migrations/, by name and by condition (T21).
import type { Queryable } from './session.ts';

interface PolicyRow {
  readonly table: string;
  readonly policy: string;
  /** As PostgreSQL writes it, without what its versions may write in another way. */
  readonly condition: string;
  /** Also for what is written. */
  readonly is_both: boolean;
  readonly is_reading_only: boolean;
}

const setting = (name: string): string => `NULLIFcurrent_setting'app.${name}',true,''`;
const proof = (column: string): string => `encode${column},'hex'=${setting('proof')}`;

const OWN = 'own_tenant';
const INSTALLATIONS_OWN = 'service_keys: service_only';
/** Beside the one by which a tenant's rows are its own. Each is for reading. */
const READING: ReadonlyMap<string, string> = new Map([
  ['agent_keys: shown_key', proof('key_hash')],
  ['browser_sessions: shown_cookie', proof('hash')],
  ['browser_sign_ins: shown_code', `${proof('code_hash')}OR'id:'||id=${setting('proof')}`],
  ['issuers: named_issuer', `issuer=${setting('issuer')}`],
  ['sign_in_attempts: shown_state', proof('state_hash')],
  ['tenants: operator_reads', "current_setting'app.scope',true='operator'"],
  ['tickets: shown_link', proof('hash')],
]);

/** One sentence for the first table that is not as migrations/ made it. Ones that only narrow do no harm. */
export async function policyFault(catalogue: Queryable): Promise<string | undefined> {
  const policies = await catalogue.query<PolicyRow>(
    `SELECT quote_ident(relname) AS table, quote_ident(polname) AS policy,
       regexp_replace(pg_get_expr(polqual, polrelid), '::text|[\\s()]', '', 'g') AS condition,
       polcmd = '*' AND (polwithcheck IS NULL OR pg_get_expr(polwithcheck, polrelid) = pg_get_expr(polqual, polrelid)) AS is_both,
       polcmd = 'r' AS is_reading_only
     FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid
     WHERE polpermissive AND pg_table_is_visible(c.oid) AND (relname IN ('tenants', 'service_keys') OR EXISTS (
       SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id' AND NOT attisdropped
     )) ORDER BY relname, polname`,
  );
  const strange = policies.find((row) => !isOurs(row));
  if (strange !== undefined)
    return `The policy ${strange.policy} of the table ${strange.table} is not one of migrations/, and could show one tenant another's rows: run DROP POLICY ${strange.policy} ON ${strange.table}, and make it again if it is named there`;
  const named = new Set(policies.map(nameOf));
  const tables = new Set(policies.map(({ table }) => table));
  const lost = [
    ...[...tables].filter((table) => table !== 'service_keys').map((table) => `${table}: ${OWN}`),
    INSTALLATIONS_OWN,
    ...READING.keys(),
  ].find((name) => !named.has(name));
  return lost === undefined ? undefined : `A policy is missing (${lost}): make those of migrations/ again`;
}

const nameOf = ({ table, policy }: PolicyRow): string => `${table}: ${policy}`;

function isOurs(row: PolicyRow): boolean {
  const name = nameOf(row);
  const { table, policy, condition, is_both, is_reading_only } = row;
  if (name === INSTALLATIONS_OWN) return is_both && condition === "current_setting'app.scope',true='service'";
  if (policy === OWN)
    return is_both && condition === `${table === 'tenants' ? 'id' : 'tenant_id'}=${setting('tenant')}`;
  return is_reading_only && READING.get(name) === condition;
}
