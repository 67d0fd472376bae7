// T21: what the database's own catalogue says about the walls between tenants.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenStore, openStore } from './open-store.ts';
import { TENANT_TABLES } from './tenant-tables.ts';

let store: OpenStore;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

const texts = async (sql: string): Promise<readonly string[]> =>
  (await store.admin.query<{ text: string }>(sql)).map(({ text }) => text);

const OURS = `relnamespace = 'public'::regnamespace AND relname <> 'pgmigrations'`;
/** Of the installation, not of a tenant. */
const WITHOUT_TENANT = 'service_keys';

/**
 * Unique for all tenants, and telling none of them anything: 256 random bits or their hash, found before the
 * tenant is known. The id of a browser's sign-in is 128 random bits that we made, never text that somebody chose.
 */
const RANDOM = [
  'agent_keys (key_hash)',
  'browser_sessions (hash)',
  'browser_sign_ins (code_hash)',
  'browser_sign_ins (id)',
  'browser_sign_ins (state_hash)',
  'sign_in_attempts (state_hash)',
  'tickets (hash)',
];

describe('every table with a tenant', () => {
  it('is known to the matrix test, with what the service may do there', async () => {
    const tables = await texts(
      `SELECT relname AS text FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
       WHERE ${OURS} AND relkind IN ('r', 'p') AND (attname = 'tenant_id' OR relname = 'tenants' AND attname = 'id') ORDER BY 1`,
    );
    expect(tables).toEqual(TENANT_TABLES.map(({ name }) => name));
    for (const { name, may } of TENANT_TABLES) {
      const granted = await texts(
        `SELECT privilege_type AS text FROM information_schema.role_table_grants WHERE grantee = 'keybearer_app' AND table_name = '${name}'`,
      );
      expect([...granted].sort(), name).toEqual([...may].sort());
    }
  });

  it('is under forced row-level security, as is every other table of ours', async () => {
    expect(
      await texts(
        `SELECT relname AS text FROM pg_class WHERE ${OURS} AND relkind IN ('r', 'p') AND NOT (relrowsecurity AND relforcerowsecurity)`,
      ),
    ).toEqual([]);
  });

  it('has one policy that lets rows be written, which is by tenant, for everybody, and says so both ways', async () => {
    const writing = await store.admin.query(
      `SELECT tablename, roles::text, cmd, permissive, qual = with_check AS both,
         qual ~ 'tenant_id = NULLIF\\(current_setting\\(''app.tenant''::text, true\\), ''''::text\\)' OR tablename = 'tenants' AND qual ~ '\\(id = NULLIF' AS right
       FROM pg_policies WHERE schemaname = 'public' AND cmd <> 'SELECT' AND tablename <> '${WITHOUT_TENANT}' ORDER BY tablename`,
    );
    expect(writing).toEqual(
      TENANT_TABLES.map(({ name }) => ({
        tablename: name,
        roles: '{public}',
        cmd: 'ALL',
        permissive: 'PERMISSIVE',
        both: true,
        right: true,
      })),
    );
  });

  it('may else only be read, and that by few and narrow policies', async () => {
    expect(
      await texts(
        `SELECT tablename || ': ' || policyname AS text FROM pg_policies WHERE schemaname = 'public' AND cmd = 'SELECT' ORDER BY 1`,
      ),
    ).toEqual([
      'agent_keys: shown_key',
      'browser_sessions: shown_cookie',
      'browser_sign_ins: shown_code',
      'issuers: named_issuer',
      'sign_in_attempts: shown_state',
      'tenants: operator_reads',
      'tickets: shown_link',
    ]);
    // A setting is '' after the transaction that made it, and that must be nobody's.
    expect(
      await texts(
        `SELECT policyname AS text FROM pg_policies WHERE schemaname = 'public' AND qual !~ 'app.scope'
         AND regexp_count(qual, 'current_setting') <> regexp_count(qual, 'NULLIF\\(current_setting')`,
      ),
    ).toEqual([]);
  });

  it('has the tenant first in every key, but for what is random', async () => {
    const others = await texts(
      `SELECT c.relname || ' (' || string_agg(a.attname, ', ' ORDER BY k.place) || ')' AS text
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
       JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (number, place) ON true
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
       WHERE c.${OURS} AND c.relname NOT IN ('tenants', '${WITHOUT_TENANT}') AND i.indisunique
       GROUP BY i.indexrelid, c.relname
       HAVING (array_agg(a.attname::text ORDER BY k.place))[1] <> 'tenant_id' ORDER BY 1`,
    );
    expect(others).toEqual(RANDOM);
  });

  it('has the tenant first in every foreign key, on both sides', async () => {
    const keys = await store.admin.query<{ table: string; first: string; target: string }>(
      `SELECT c.relname AS table, a.attname AS first, t.relname || '.' || b.attname AS target
       FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class t ON t.oid = f.confrelid
       JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
       JOIN pg_attribute b ON b.attrelid = f.confrelid AND b.attnum = f.confkey[1]
       WHERE f.contype = 'f' AND c.relnamespace = 'public'::regnamespace`,
    );
    expect(keys).toHaveLength(TENANT_TABLES.length - 1);
    expect(keys.filter(({ first }) => first !== 'tenant_id')).toEqual([]);
    expect([...new Set(keys.map(({ target }) => target))].sort()).toEqual(['tenants.id', 'tickets.tenant_id']);
  });
});

describe('nothing reaches round the policies', () => {
  it('no function runs with its maker’s rights, and no view, and every function names its search path', async () => {
    const ours = `pronamespace = 'public'::regnamespace`;
    expect((await texts(`SELECT proname AS text FROM pg_proc WHERE ${ours}`)).length).toBeGreaterThan(5);
    expect(await texts(`SELECT proname AS text FROM pg_proc WHERE ${ours} AND prosecdef`)).toEqual([]);
    expect(
      await texts(
        `SELECT proname AS text FROM pg_proc WHERE ${ours} AND NOT EXISTS (SELECT FROM unnest(proconfig) AS c WHERE c LIKE 'search_path=%')`,
      ),
    ).toEqual([]);
    expect(await texts(`SELECT relname AS text FROM pg_class WHERE ${OURS} AND relkind IN ('v', 'm', 'f')`)).toEqual(
      [],
    );
  });

  it('the service’s role owns nothing, may become nobody, and has no attribute', async () => {
    const [role] = await store.admin.query(
      `SELECT rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls,
         EXISTS (SELECT FROM pg_class WHERE relowner = r.oid) OR EXISTS (SELECT FROM pg_proc WHERE proowner = r.oid) AS owns,
         EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid) AS member,
         has_schema_privilege(r.oid, 'public', 'CREATE') AS creates,
         has_table_privilege(r.oid, 'pgmigrations', 'INSERT, UPDATE, DELETE, TRUNCATE') AS migrates
       FROM pg_roles r WHERE rolname = 'keybearer_app'`,
    );
    expect(role).toEqual({
      rolsuper: false,
      rolinherit: true,
      rolcreaterole: false,
      rolcreatedb: false,
      rolcanlogin: false,
      rolreplication: false,
      rolbypassrls: false,
      owns: false,
      member: false,
      creates: false,
      migrates: false,
    });
  });
});
