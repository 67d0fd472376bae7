// T21: who migrates, who serves, and when nothing is served. Roles belong to a whole server, so here is one of our own.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { asAppRole } from '../../src/store/app-role.ts';
import { openChangeFeed } from '../../src/store/change-feed.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/embedded.ts';
import { migrate } from '../../src/store/migrate.ts';
import { requireRowSecurity } from '../../src/store/row-security.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { warnOfStrongLogin } from '../../src/store/strong-login.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { type AdminSession, openAdminSession } from '../support/admin-session.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { eventually } from './eventually.ts';
import { fillTenant } from './fill-tenant.ts';
import { tenantId } from './open-store.ts';
import { TENANT_TABLES } from './tenant-tables.ts';

const logger = createLogger('silent');
let dataDir: string;
let server: EmbeddedPostgres;
let admin: AdminSession;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'keybearer-roles-'));
  await chmod(dataDir, 0o711);
  server = await startEmbeddedPostgres({ dataDir, logger, fsync: false });
  admin = openAdminSession(server.url);
});
afterAll(async () => {
  await admin.end();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

function urlOf(database: string, user?: string): string {
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  if (user !== undefined) [url.username, url.password] = [user, 'secret'];
  return url.href;
}

let made = 0;
/** A user who may do nothing but what the options say, and a database of theirs. */
async function aUserWithDatabase(options = ''): Promise<{ user: string; database: string; url: string }> {
  made += 1;
  const [user, database] = [`user${made}`, `database${made}`];
  await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'secret' ${options}`);
  await admin.query(`CREATE DATABASE ${database} OWNER ${user}`);
  return { user, database, url: urlOf(database, user) };
}

async function inDatabase<T>(database: string, work: (session: AdminSession) => Promise<T>): Promise<T> {
  const session = openAdminSession(urlOf(database));
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

async function open<T>(url: string, work: (database: Database, clock: FakeClock) => Promise<T>): Promise<T> {
  const clock = new FakeClock();
  const database = openDatabase({ url, maxConnections: 2, clock, logger });
  try {
    return await work(database, clock);
  } finally {
    await database.close();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no error');

const refusal = async (url: string): Promise<string> => open(url, requireRowSecurity).then(() => 'served', messageOf);

const dropAppRole = async (): Promise<void> => {
  await admin.query('DROP ROLE IF EXISTS keybearer_app');
};

describe('migrations', () => {
  it('by a user who may make no roles say what an administrator has to run, and work after that', async () => {
    await dropAppRole();
    const { user, url } = await aUserWithDatabase();
    const failure = await migrate(url, logger).catch(messageOf);
    expect(failure).toMatch(/its user may not act as the role keybearer_app\. As an administrator .* run: /);
    const sql = String(failure).split('run: ')[1] ?? '';
    expect(sql).toBe(`CREATE ROLE keybearer_app NOLOGIN; GRANT keybearer_app TO "${user}";`);
    await admin.query(sql);
    await migrate(url, logger);
    expect(await refusal(url)).toBe('served');
    // The role is there now; another owner only lacks the grant.
    const other = await aUserWithDatabase();
    const second = await migrate(other.url, logger).catch(messageOf);
    expect(String(second).split('run: ')[1]).toBe(`GRANT keybearer_app TO "${other.user}";`);
    for (const database of ['database1', 'database2']) await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });

  it('by an owner who may make roles need nobody else, and tell everything of a tenant to go and to stay', async () => {
    await dropAppRole();
    const { url, database } = await aUserWithDatabase('CREATEROLE');
    await migrate(url, logger);
    expect(await refusal(url)).toBe('served');
    await open(url, async (own, clock) => {
      await inDatabase(database, async (session) => {
        const store = { database: own, admin: session, url, clock, close: async () => undefined };
        for (const id of ['gone', 'stays']) await fillTenant(store, id);
        await createServerStore(own).remove(tenantId('stays'), 'linear');
        await createTenantStore(own).remove(tenantId('gone'));
        const left: string[] = [];
        for (const { name, tenant } of TENANT_TABLES)
          for (const { id } of await session.query<{ id: string }>(`SELECT ${tenant} AS id FROM ${name}`))
            left.push(`${name} ${id}`);
        // What hung on the server went with it, though the owner of the tables is bound by the policies too.
        const kept = ['agent_keys', 'browser_sessions', 'browser_sign_ins', 'data_keys', 'issuers', 'tenants'];
        expect(left).toEqual(kept.map((name) => `${name} stays`));
      });
    });
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });

  it('of several databases of one server at once make one role, and all of them work', async () => {
    await dropAppRole();
    const urls: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      await admin.query(`CREATE DATABASE race${n}`);
      urls.push(urlOf(`race${n}`));
    }
    // Another one is just making it, so that all of them have seen none.
    const maker = new pg.Client({ connectionString: server.url });
    await maker.connect();
    await maker.query('BEGIN; CREATE ROLE keybearer_app NOLOGIN');
    const migrated = Promise.all([...urls, ...urls].map((url) => migrate(url, logger)));
    migrated.catch(() => undefined);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%CREATE ROLE%'`;
    await eventually('all to wait', async () => (await admin.query(waiting)).length === 2 * urls.length);
    await maker.query('COMMIT');
    await maker.end();
    await migrated;
    for (const url of urls) expect(await refusal(url)).toBe('served');
    for (let n = 0; n < 4; n += 1) await admin.query(`DROP DATABASE race${n} WITH (FORCE)`);
  });
});

describe('a service', () => {
  let owner: { user: string; database: string; url: string };
  beforeAll(async () => {
    await dropAppRole();
    owner = await aUserWithDatabase('CREATEROLE');
    await migrate(owner.url, logger);
  });

  it('works as the role that owns nothing, whoever its URL names, and hears of changes', async () => {
    await admin.query(`CREATE ROLE member LOGIN PASSWORD 'secret' NOINHERIT IN ROLE keybearer_app`);
    for (const url of [owner.url, urlOf(owner.database), urlOf(owner.database, 'member')]) {
      await migrate(url, logger);
      expect(await refusal(url)).toBe('served');
      const feed = await openChangeFeed(url, new FakeClock(), logger);
      const heard: string[] = [];
      feed.subscribe((change) => heard.push(change.kind));
      await open(url, async (database) => {
        const id = tenantId('acme');
        await createTenantStore(database).create({
          id,
          name: 'a',
          signIn: { mode: 'link' },
          gatedDefault: false,
          limits: {},
        });
        await eventually('the notice', () => heard.includes('tenants'));
        await createTenantStore(database).remove(id);
        const who = 'SELECT current_user::text AS role';
        expect(await database.forTenant(id).query(who)).toEqual([{ role: 'keybearer_app' }]);
      });
      await feed.close();
    }
  });

  it('that may not migrate says which steps are missing and who has to do them', async () => {
    const url = urlOf(owner.database, 'member');
    await inDatabase(owner.database, (session) =>
      session.query(`DELETE FROM pgmigrations WHERE name = '0007_row_level_security'`),
    );
    await expect(migrate(url, logger)).rejects.toThrow(
      'it lacks 0007_row_level_security.sql, and this user may not change its tables. Run "keybearer migrate" with the owner\'s DATABASE_URL',
    );
    await inDatabase(owner.database, (session) =>
      session.query(`INSERT INTO pgmigrations (name, run_on) VALUES ('0007_row_level_security', now())`),
    );
    await admin.query(`CREATE ROLE stranger LOGIN PASSWORD 'secret'`);
    await expect(migrate(urlOf(owner.database, 'stranger'), logger)).rejects.toThrow(
      'run: GRANT keybearer_app TO "stranger";',
    );
  });

  it.each([
    [
      'its role is a superuser',
      'ALTER ROLE keybearer_app SUPERUSER',
      'ALTER ROLE keybearer_app NOSUPERUSER',
      'The database role keybearer_app is a superuser: run ALTER ROLE keybearer_app NOSUPERUSER',
    ],
    [
      'its role bypasses policies',
      'ALTER ROLE keybearer_app BYPASSRLS',
      'ALTER ROLE keybearer_app NOBYPASSRLS',
      'The database role keybearer_app bypasses row-level security: run ALTER ROLE keybearer_app NOBYPASSRLS',
    ],
    [
      'its role may become a superuser',
      'GRANT keybearer TO keybearer_app',
      'REVOKE keybearer FROM keybearer_app',
      'The database role keybearer_app may become keybearer, which no policy binds: run REVOKE keybearer FROM keybearer_app',
    ],
    [
      'its role owns a table',
      'ALTER TABLE servers OWNER TO keybearer_app',
      'ALTER TABLE servers OWNER TO CURRENT_USER; GRANT SELECT, INSERT, UPDATE, DELETE ON servers TO keybearer_app',
      "The service's role owns the table servers, so it could lift its policies: give the table to another owner",
    ],
    [
      'its role owns some other table',
      'CREATE TABLE extra (id int); ALTER TABLE extra OWNER TO keybearer_app',
      'DROP TABLE extra',
      "The service's role owns the table extra, so it could lift its policies: give the table to another owner",
    ],
    [
      'a table’s policies do not bind its owner',
      'ALTER TABLE credentials NO FORCE ROW LEVEL SECURITY',
      'ALTER TABLE credentials FORCE ROW LEVEL SECURITY',
      'Row-level security is not forced on the table credentials: run ALTER TABLE credentials ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
    ],
    [
      'a table’s policies are switched off',
      'ALTER TABLE tenants DISABLE ROW LEVEL SECURITY',
      'ALTER TABLE tenants ENABLE ROW LEVEL SECURITY',
      'Row-level security is not forced on the table tenants: run ALTER TABLE tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
    ],
    [
      'a new table with tenants was forgotten',
      'CREATE TABLE "New notes" (tenant_id text); GRANT SELECT ON "New notes" TO keybearer_app',
      'DROP TABLE "New notes"',
      'Row-level security is not forced on the table "New notes": run ALTER TABLE "New notes" ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
    ],
    [
      'a table has no policy',
      'CREATE TABLE notes (tenant_id text); ALTER TABLE notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; GRANT SELECT ON notes TO keybearer_app',
      'DROP TABLE notes',
      'The table notes has no policy: make those of migrations/ again',
    ],
    [
      'somebody added a policy that shows everything',
      'CREATE POLICY "for reports" ON credentials USING (true)',
      'DROP POLICY "for reports" ON credentials',
      'The policy "for reports" of the table credentials is not one of migrations/, and could show one tenant another\'s rows: run DROP POLICY "for reports" ON credentials, and make it again if it is named there',
    ],
    [
      'a policy of ours was widened under its name',
      'ALTER POLICY own_tenant ON servers USING (true)',
      `ALTER POLICY own_tenant ON servers USING (tenant_id = NULLIF(current_setting('app.tenant', true), ''))`,
      "The policy own_tenant of the table servers is not one of migrations/, and could show one tenant another's rows: run DROP POLICY own_tenant ON servers, and make it again if it is named there",
    ],
    [
      'a policy that reads was widened',
      'ALTER POLICY shown_link ON tickets USING (hash IS NOT NULL)',
      `ALTER POLICY shown_link ON tickets USING (encode(hash, 'hex') = NULLIF(current_setting('app.proof', true), ''))`,
      "The policy shown_link of the table tickets is not one of migrations/, and could show one tenant another's rows: run DROP POLICY shown_link ON tickets, and make it again if it is named there",
    ],
    [
      'a policy of ours was lost',
      'DROP POLICY named_issuer ON issuers',
      `CREATE POLICY named_issuer ON issuers FOR SELECT USING (issuer = NULLIF(current_setting('app.issuer', true), ''))`,
      'A policy is missing (issuers: named_issuer): make those of migrations/ again',
    ],
    [
      'a function runs with the rights of its maker',
      "CREATE FUNCTION all_of(text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM credentials'",
      'DROP FUNCTION all_of(text)',
      "The function all_of(text) runs with its maker's rights, past the policies: run REVOKE EXECUTE ON FUNCTION all_of(text) FROM PUBLIC, keybearer_app",
    ],
    [
      'a view reads with the rights of its maker',
      'CREATE VIEW report AS SELECT * FROM credentials; GRANT SELECT ON report TO keybearer_app',
      'DROP VIEW report',
      "The view report reads with its maker's rights, past the policies: run REVOKE ALL ON report FROM PUBLIC, keybearer_app",
    ],
    [
      'the grants were lost, as in a restore without roles',
      'REVOKE SELECT ON tickets FROM keybearer_app',
      'GRANT SELECT ON tickets TO keybearer_app',
      "The service's role may not read the table tickets: make the GRANTs of migrations/ again",
    ],
    [
      'the tables are somewhere else',
      'ALTER SCHEMA public RENAME TO elsewhere; CREATE SCHEMA public',
      'DROP SCHEMA public; ALTER SCHEMA elsewhere RENAME TO public',
      'The tables are not there, or not in the search path: run "keybearer migrate"',
    ],
  ])('is not started when %s, and says what to do', async (_what, harm, mend, message) => {
    await inDatabase(owner.database, async (session) => {
      await session.query(harm);
      const said = await refusal(owner.url);
      await session.query(mend);
      expect(said).toBe(`${message} (docs/reference/database-roles.md)`);
      expect(await refusal(owner.url), 'mended').toBe('served');
    });
  });
});

describe('a service whose database has more in it', () => {
  it('is started where that gives nobody more: a view of the asker’s rights, a function nobody may call, a policy that narrows', async () => {
    await migrate(server.url, logger);
    const { url, database } = await aUserWithDatabase('IN ROLE keybearer_app');
    await migrate(url, logger);
    await inDatabase(database, (session) =>
      session.query(`CREATE VIEW own WITH (security_invoker = true) AS SELECT * FROM credentials;
        GRANT SELECT ON own TO keybearer_app;
        CREATE FUNCTION quiet() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
        REVOKE EXECUTE ON FUNCTION quiet() FROM PUBLIC;
        CREATE POLICY narrow ON credentials AS RESTRICTIVE USING (true)`),
    );
    expect(await refusal(url)).toBe('served');
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });
});

describe('whoever logs in', () => {
  const told = async (url: string): Promise<readonly string[]> => {
    const lines: string[] = [];
    await open(url, (database) =>
      warnOfStrongLogin(database, createLogger('info', { write: (line) => void lines.push(line) })),
    );
    return lines;
  };

  it('is named when it could lift the policies, and not when it is a member of the role and nothing else', async () => {
    await migrate(server.url, logger);
    const owner = await aUserWithDatabase('IN ROLE keybearer_app');
    await migrate(owner.url, logger);
    await admin.query(`CREATE ROLE serves LOGIN PASSWORD 'secret' IN ROLE keybearer_app`);
    expect(await told(urlOf(owner.database, 'serves'))).toEqual([]);
    const [owning] = await told(owner.url);
    expect(JSON.parse(owning ?? '{}')).toMatchObject({ level: 40, login: owner.user, is: 'owner of the tables' });
    const [unbound] = await told(urlOf(owner.database));
    expect(JSON.parse(unbound ?? '{}')).toMatchObject({ level: 40, is: 'bound by no policy' });
    await admin.query(`DROP DATABASE ${owner.database} WITH (FORCE)`);
  });
});

describe('a database URL', () => {
  it.each([
    ['postgres://a:b@host/db', 'postgres://a:b@host/db?options=-c%20role=keybearer_app'],
    ['postgres://a:b@host/db?', 'postgres://a:b@host/db?options=-c%20role=keybearer_app'],
    [
      'postgres://a:b@/db?host=/run/postgresql&options=-c%20lock_timeout%3D5s',
      'postgres://a:b@/db?host=/run/postgresql&options=-c%20lock_timeout%3D5s&options=-c%20lock_timeout%3D5s%20-c%20role=keybearer_app',
    ],
    [
      'postgres://host/db?options=-c%20lock_timeout%3D5s+-c+role%3Dpostgres',
      'postgres://host/db?options=-c%20lock_timeout%3D5s+-c+role%3Dpostgres&options=-c%20lock_timeout%3D5s%20-c%20role%3Dpostgres%20-c%20role=keybearer_app',
    ],
  ])('%s keeps its options and gets ours last', (url, expected) => {
    expect(asAppRole(url)).toBe(expected);
  });

  it('with options of its own works with both', async () => {
    await migrate(server.url, logger);
    await open(`${server.url}?options=-c%20lock_timeout%3D5s%20-c%20role%3Dkeybearer`, async (database) => {
      const text = `SELECT current_user::text AS role, current_setting('lock_timeout') AS lock`;
      expect(await database.within({ kind: 'operator' }).query(text)).toEqual([{ role: 'keybearer_app', lock: '5s' }]);
    });
  });
});
