// A bare connection in the service's role: for statements that no store would send.
import pg from 'pg';
import { asAppRole } from '../../src/store/app-role.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];
export type Ask = (text: string, values?: readonly unknown[]) => Promise<Rows>;

export interface AppSession {
  /** What it finds is rolled back. `settings` are those of the transaction. */
  within<T>(settings: Readonly<Record<string, string>>, work: (ask: Ask) => Promise<T>): Promise<T>;
  /** Outside of any transaction. */
  readonly ask: Ask;
  close(): Promise<void>;
}

export async function openAppSession(url: string): Promise<AppSession> {
  const client = new pg.Client({ connectionString: asAppRole(url) });
  await client.connect();
  const ask: Ask = async (text, values = []) => (await client.query<Record<string, unknown>>(text, [...values])).rows;
  return {
    async within(settings, work) {
      await ask('BEGIN');
      try {
        for (const entry of Object.entries(settings)) await ask('SELECT set_config($1, $2, true)', entry);
        return await work(ask);
      } finally {
        await ask('ROLLBACK');
      }
    },
    ask,
    close: () => client.end(),
  };
}
