// What runs with the rights of whoever made it is bound by that one's policies, or by none (T21). We make nothing of
// the kind, so whatever is there, in the schema of our tables, is somebody else's. Parts of an extension are let be.
import type { Queryable } from './session.ts';

interface WayRow {
  readonly name: string;
  readonly kind: 'function' | 'view';
}

export async function wayRoundFault(catalogue: Queryable): Promise<string | undefined> {
  const [way] = await catalogue.query<WayRow>(
    `WITH ours AS (SELECT relnamespace AS schema FROM pg_class WHERE oid = to_regclass('tenants')),
       extended AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
     SELECT p.oid::regprocedure::text AS name, 'function' AS kind FROM pg_proc AS p JOIN ours ON pronamespace = schema
     WHERE prosecdef AND has_function_privilege(p.oid, 'EXECUTE')
       AND NOT EXISTS (SELECT FROM extended WHERE classid = 'pg_proc'::regclass AND objid = p.oid)
     UNION ALL
     SELECT quote_ident(relname), 'view' FROM pg_class AS c JOIN ours ON relnamespace = schema
     WHERE relkind IN ('v', 'm') AND has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE')
       AND NOT (relkind = 'v' AND lower(COALESCE(reloptions::text, '')) ~ 'security_invoker=(true|on|1|yes)')
       AND NOT EXISTS (SELECT FROM extended WHERE classid = 'pg_class'::regclass AND objid = c.oid)
     ORDER BY 1 LIMIT 1`,
  );
  if (way === undefined) return undefined;
  return way.kind === 'function'
    ? `The function ${way.name} runs with its maker's rights, past the policies: run REVOKE EXECUTE ON FUNCTION ${way.name} FROM PUBLIC, keybearer_app`
    : `The view ${way.name} reads with its maker's rights, past the policies: run REVOKE ALL ON ${way.name} FROM PUBLIC, keybearer_app`;
}
