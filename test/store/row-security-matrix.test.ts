// T21: each table × each statement × own and foreign rows, as the role that the service has.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppSession, type Ask, openAppSession } from './app-session.ts';
import { fillTenant } from './fill-tenant.ts';
import { type OpenStore, openStore } from './open-store.ts';
import { TENANT_TABLES, type TenantTable } from './tenant-tables.ts';

const DENIED = { code: '42501', message: expect.stringMatching(/^permission denied for table/) };
const POLICY = { code: '42501', message: expect.stringMatching(/^new row violates row-level security policy/) };

let store: OpenStore;
let app: AppSession;
beforeAll(async () => {
  store = await openStore();
  for (const id of ['acme', 'beta']) await fillTenant(store, id);
  app = await openAppSession(store.url);
});
afterAll(async () => {
  await app.close();
  await store.close();
});

const asAcme = <T>(work: (ask: Ask) => Promise<T>): Promise<T> => app.within({ 'app.tenant': 'acme' }, work);

/** As somebody who sees everything sees it. */
async function rowOf(table: TenantTable, tenant: string): Promise<Record<string, unknown>> {
  const text = `SELECT to_jsonb(t) AS row FROM ${table.name} AS t WHERE ${table.tenant} = $1`;
  const [found] = await store.admin.query<{ row: Record<string, unknown> }>(text, [tenant]);
  if (found === undefined) throw new Error(`${table.name} has no row of ${tenant}`);
  return found.row;
}

const insert = (ask: Ask, { name }: TenantTable, row: object): Promise<unknown> =>
  ask(`INSERT INTO ${name} SELECT * FROM jsonb_populate_record(NULL::${name}, $1)`, [JSON.stringify(row)]);

/** The whole transaction is rolled back after it, so a refusal ends nothing. */
const outcome = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof pg.DatabaseError ? { code: error.code, message: error.message } : error),
  );

describe.each(TENANT_TABLES)('of $name, the service', (table) => {
  const { name, tenant, may } = table;
  const changed = (text: string): Promise<unknown> =>
    asAcme((ask) =>
      ask(`${text} RETURNING ${tenant}`).then(
        (rows) => rows.length,
        (error: unknown) => error,
      ),
    );
  const rowsOr = (operation: (typeof may)[number], rows: number): unknown =>
    may.includes(operation) ? rows : expect.objectContaining(DENIED);

  it('reads its own rows only, also when a condition was forgotten', async () => {
    await asAcme(async (ask) => {
      expect(await ask(`SELECT ${tenant} FROM ${name}`)).toEqual([{ [tenant]: 'acme' }]);
      expect(await ask(`SELECT ${tenant} FROM ${name} WHERE ${tenant} = 'beta'`)).toEqual([]);
    });
  });

  it('changes its own rows only', async () => {
    const text = `UPDATE ${name} SET ${tenant} = ${tenant}`;
    expect(await changed(text)).toEqual(rowsOr('UPDATE', 1));
    expect(await changed(`${text} WHERE ${tenant} = 'beta'`)).toEqual(rowsOr('UPDATE', 0));
  });

  it('removes its own rows only', async () => {
    expect(await changed(`DELETE FROM ${name}`)).toEqual(rowsOr('DELETE', 1));
    expect(await changed(`DELETE FROM ${name} WHERE ${tenant} = 'beta'`)).toEqual(rowsOr('DELETE', 0));
  });

  it('gives no row to another tenant', async () => {
    const text = `UPDATE ${name} SET ${tenant} = 'beta'`;
    const refused = await asAcme((ask) => outcome(ask(text)));
    // A server's own trigger is first: it never changes hands, whoever wants it.
    const refusal = may.includes('UPDATE') ? POLICY : DENIED;
    expect(refused).toMatchObject(name === 'servers' ? { code: '23001' } : refusal);
  });

  it('adds rows of its own only, and is not told whether a foreign key is taken', async () => {
    const [mine, theirs] = [await rowOf(table, 'acme'), await rowOf(table, 'beta')];
    const absent = { ...mine, [tenant]: 'nobody' };
    const own = await asAcme(async (ask) => {
      if (may.includes('DELETE')) await ask(`DELETE FROM ${name}`);
      return outcome(insert(ask, table, mine));
    });
    // What may not be removed is in its own way.
    expect(own).toEqual(may.includes('DELETE') ? 'done' : expect.objectContaining({ code: '23505' }));
    const taken = await asAcme((ask) => outcome(insert(ask, table, theirs)));
    expect(taken).toMatchObject(POLICY);
    expect(await asAcme((ask) => outcome(insert(ask, table, absent)))).toEqual(taken);
  });

  it('finds and adds nothing where no tenant was named', async () => {
    const mine = await rowOf(table, 'acme');
    await app.within({}, async (ask) => expect(await ask(`SELECT FROM ${name}`)).toEqual([]));
    expect(await app.within({}, (ask) => outcome(insert(ask, table, mine)))).toMatchObject(POLICY);
    expect(await app.within({ 'app.tenant': '' }, (ask) => ask(`SELECT FROM ${name}`))).toEqual([]);
  });

  it('may not empty it, lift its policies, or make it another’s', async () => {
    for (const text of [
      `TRUNCATE ${name} CASCADE`,
      `ALTER TABLE ${name} NO FORCE ROW LEVEL SECURITY`,
      `CREATE POLICY mine ON ${name} USING (true)`,
      `DROP POLICY own_tenant ON ${name}`,
      `ALTER TABLE ${name} DISABLE TRIGGER ALL`,
    ])
      expect(await asAcme((ask) => outcome(ask(text))), text).toMatchObject({ code: '42501' });
  });
});
