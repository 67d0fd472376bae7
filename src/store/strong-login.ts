// The role that serves is bound by the policies; whoever logged in may be another, and SQL of an attacker's could ask to
// be that one again (T21). It is told, not refused: where there is one user only, it has to own the tables.
import type { Logger } from '../shared/logger.ts';
import type { Database } from './database.ts';

interface LoginRow {
  readonly login: string;
  readonly is_unbound: boolean;
  readonly owns: boolean;
}

export async function warnOfStrongLogin(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.within({ kind: 'operator' }).query<LoginRow>(
    `SELECT session_user::text AS login, rolsuper OR rolbypassrls OR EXISTS (
         SELECT FROM pg_roles AS s WHERE (s.rolsuper OR s.rolbypassrls) AND pg_has_role(r.oid, s.oid, 'MEMBER')
       ) AS is_unbound,
       pg_has_role(r.oid, (SELECT relowner FROM pg_class WHERE oid = to_regclass('tenants')), 'MEMBER') AS owns
     FROM pg_roles AS r WHERE rolname = session_user`,
  );
  if (row === undefined || !(row.is_unbound || row.owns)) return;
  logger.warn(
    { login: row.login, is: row.is_unbound ? 'bound by no policy' : 'owner of the tables' },
    'the user of DATABASE_URL may do more than the service needs; see "Two users" in docs/reference/database-roles.md',
  );
}
