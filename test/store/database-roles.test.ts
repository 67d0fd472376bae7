// T21: who migrates and who serves.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { asAppRole } from '../../src/store/app-role.ts';
import { openChangeFeed } from '../../src/store/change-feed.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { warnOfStrongLogin } from '../../src/store/strong-login.ts';
import { createTenantStore } from '../../src/store/tenants.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { eventually } from './eventually.ts';
import { fillTenant } from './fill-tenant.ts';
import { tenantId } from './open-store.ts';
import { logger, messageOf, type OwnedDatabase, type OwnServer, open, refusal, startOwnServer } from './own-server.ts';
import { TENANT_TABLES } from './tenant-tables.ts';

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.close());

describe('migrations', () => {
  it('by a user who may make no roles say what an administrator has to run, and work after that', async () => {
    await server.dropAppRole();
    const { user, url } = await server.aUserWithDatabase();
    const failure = await migrate(url, logger).catch(messageOf);
    expect(failure).toMatch(/its user may not act as the role keybearer_app\. As an administrator .* run: /);
    const sql = String(failure).split('run: ')[1] ?? '';
    expect(sql).toBe(`CREATE ROLE keybearer_app NOLOGIN; GRANT keybearer_app TO "${user}";`);
    await server.admin.query(sql);
    await migrate(url, logger);
    expect(await refusal(url)).toBe('served');
    // The role is there now; another owner only lacks the grant.
    const other = await server.aUserWithDatabase();
    const second = await migrate(other.url, logger).catch(messageOf);
    expect(String(second).split('run: ')[1]).toBe(`GRANT keybearer_app TO "${other.user}";`);
    for (const database of ['database1', 'database2'])
      await server.admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });

  it('by an owner who may make roles need nobody else, and tell everything of a tenant to go and to stay', async () => {
    await server.dropAppRole();
    const { url, database } = await server.aUserWithDatabase('CREATEROLE');
    await migrate(url, logger);
    expect(await refusal(url)).toBe('served');
    await open(url, async (own, clock) => {
      await server.inDatabase(database, async (session) => {
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
    await server.admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });

  it('of several databases of one server at once make one role, and all of them work', async () => {
    await server.dropAppRole();
    const urls: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      await server.admin.query(`CREATE DATABASE race${n}`);
      urls.push(server.urlOf(`race${n}`));
    }
    // Another one is just making it, so that all of them have seen none.
    const maker = new pg.Client({ connectionString: server.url });
    await maker.connect();
    await maker.query('BEGIN; CREATE ROLE keybearer_app NOLOGIN');
    const migrated = Promise.all([...urls, ...urls].map((url) => migrate(url, logger)));
    migrated.catch(() => undefined);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%CREATE ROLE%'`;
    await eventually('all to wait', async () => (await server.admin.query(waiting)).length === 2 * urls.length);
    await maker.query('COMMIT');
    await maker.end();
    await migrated;
    for (const url of urls) expect(await refusal(url)).toBe('served');
    for (let n = 0; n < 4; n += 1) await server.admin.query(`DROP DATABASE race${n} WITH (FORCE)`);
  });
});

describe('a service', () => {
  let owner: OwnedDatabase;
  beforeAll(async () => {
    await server.dropAppRole();
    owner = await server.aUserWithDatabase('CREATEROLE');
    await migrate(owner.url, logger);
  });

  it('works as the role that owns nothing, whoever its URL names, and hears of changes', async () => {
    await server.admin.query(`CREATE ROLE member LOGIN PASSWORD 'secret' NOINHERIT IN ROLE keybearer_app`);
    for (const url of [owner.url, server.urlOf(owner.database), server.urlOf(owner.database, 'member')]) {
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
    const url = server.urlOf(owner.database, 'member');
    await server.inDatabase(owner.database, (session) =>
      session.query(`DELETE FROM pgmigrations WHERE name = '0007_row_level_security'`),
    );
    await expect(migrate(url, logger)).rejects.toThrow(
      'it lacks 0007_row_level_security.sql, and this user may not change its tables. Run "keybearer migrate" with the owner\'s DATABASE_URL',
    );
    await server.inDatabase(owner.database, (session) =>
      session.query(`INSERT INTO pgmigrations (name, run_on) VALUES ('0007_row_level_security', now())`),
    );
    await server.admin.query(`CREATE ROLE stranger LOGIN PASSWORD 'secret'`);
    await expect(migrate(server.urlOf(owner.database, 'stranger'), logger)).rejects.toThrow(
      'run: GRANT keybearer_app TO "stranger";',
    );
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
    const owner = await server.aUserWithDatabase('IN ROLE keybearer_app');
    await migrate(owner.url, logger);
    await server.admin.query(`CREATE ROLE serves LOGIN PASSWORD 'secret' IN ROLE keybearer_app`);
    expect(await told(server.urlOf(owner.database, 'serves'))).toEqual([]);
    const [owning] = await told(owner.url);
    expect(JSON.parse(owning ?? '{}')).toMatchObject({ level: 40, login: owner.user, is: 'owner of the tables' });
    const [unbound] = await told(server.urlOf(owner.database));
    expect(JSON.parse(unbound ?? '{}')).toMatchObject({ level: 40, is: 'bound by no policy' });
    await server.admin.query(`DROP DATABASE ${owner.database} WITH (FORCE)`);
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
