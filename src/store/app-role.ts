// The role that the service works as: it owns nothing, and no policy is waived for it. Whoever migrates makes it.
import pg from 'pg';
import { OwnError } from '../shared/errors.ts';

export const APP_ROLE = 'keybearer_app';

/**
 * The same database, with each connection in the role from its first moment on, so that RESET goes back to it.
 * The URL's own options stay, before ours.
 */
export function asAppRole(url: string): string {
  // Cut as text: a URL of PostgreSQL may be one that `URL` does not read. Of two values the driver takes the last.
  const [base = '', query = ''] = url.split(/\?(.*)/s);
  const own = new URLSearchParams(query).getAll('options').at(-1);
  const options = [own === undefined ? '' : `${encodeURIComponent(own)}%20`, '-c%20role=', APP_ROLE].join('');
  return `${base}?${query === '' ? '' : `${query}&`}options=${options}`;
}

/** Makes the role when it is not there, and the migrating user a member of it. Says what to run when that is not allowed. */
export async function ensureAppRole(client: pg.Client): Promise<void> {
  try {
    await client.query(CREATE);
    if (!(await isMember(client))) await client.query(`GRANT ${APP_ROLE} TO CURRENT_USER`);
  } catch (error) {
    // Another database of this server may be migrated at the same time, and the roles are the same ones.
    if (await isMember(client)) return;
    if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new OwnError(await whatToRun(client), { cause: error });
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

const CREATE = `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${APP_ROLE}') THEN CREATE ROLE ${APP_ROLE} NOLOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$`;

/** Whether SET ROLE works. Since PostgreSQL 16 a member may be one that cannot, such as the maker of a role. */
async function isMember(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ yes: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '${APP_ROLE}' AND pg_has_role(oid,
       CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)) AS yes`,
  );
  return rows[0]?.yes === true;
}

export async function whatToRun(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ user: string; exists: boolean }>(
    `SELECT current_user AS user, EXISTS (SELECT FROM pg_roles WHERE rolname = '${APP_ROLE}') AS exists`,
  );
  const { user = '', exists = false } = rows[0] ?? {};
  const create = exists ? '' : `CREATE ROLE ${APP_ROLE} NOLOGIN; `;
  const grant = `GRANT ${APP_ROLE} TO ${pg.escapeIdentifier(user)};`;
  return `its user may not act as the role ${APP_ROLE}. As an administrator of the database server, run: ${create}${grant}`;
}
