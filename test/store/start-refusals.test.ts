// T21: when nothing is served, because somebody could read past the policies, and what the refusal says to do.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { logger, type OwnedDatabase, type OwnServer, refusal, startOwnServer } from './own-server.ts';

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.close());

describe('a service', () => {
  let owner: OwnedDatabase;
  beforeAll(async () => {
    await server.dropAppRole();
    owner = await server.aUserWithDatabase('CREATEROLE');
    await migrate(owner.url, logger);
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
    await server.inDatabase(owner.database, async (session) => {
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
    const { url, database } = await server.aUserWithDatabase('IN ROLE keybearer_app');
    await migrate(url, logger);
    await server.inDatabase(database, (session) =>
      session.query(`CREATE VIEW own WITH (security_invoker = true) AS SELECT * FROM credentials;
        GRANT SELECT ON own TO keybearer_app;
        CREATE FUNCTION quiet() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
        REVOKE EXECUTE ON FUNCTION quiet() FROM PUBLIC;
        CREATE POLICY narrow ON credentials AS RESTRICTIVE USING (true)`),
    );
    expect(await refusal(url)).toBe('served');
    await server.admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });
});
