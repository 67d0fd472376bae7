// What somebody with all rights does by hand in a database: a pool as the superuser, past every policy.
import pg from 'pg';

export interface AdminSession {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  end(): Promise<void>;
}

export function openAdminSession(url: string): AdminSession {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // Cut off when its database is dropped; whoever uses it hears of it.
  pool.on('error', () => undefined);
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
    end: () => pool.end(),
  };
}
