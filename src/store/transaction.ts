// The one way to the rows: a transaction that says whose they are before it asks for any. The setting is local to the
// transaction, so nothing of it is left for whoever gets the connection next (T21).
import type pg from 'pg';
import { beginOf, type Scope, settingOf } from './scope.ts';
import type { Queryable, Session } from './session.ts';

const SET = 'SELECT set_config($1, $2, true)';

/** All four go out together and their answers come back together: one round trip, as for a statement alone. */
export async function askOnce<Row extends pg.QueryResultRow>(
  session: Session,
  scope: Scope,
  text: string,
  values?: readonly unknown[],
): Promise<readonly Row[]> {
  const answers = [
    session.query(beginOf(scope)),
    session.query(SET, settingOf(scope)),
    session.query<Row>(text, values),
    // After a statement that failed this rolls back; that statement's own error is told then.
    session.commit(),
  ] as const;
  // Each has to be over before the connection goes back; what went wrong first is what is told.
  await Promise.allSettled(answers);
  const [, , rows] = await Promise.all(answers);
  return rows;
}

/** Commits when `work` resolves, rolls back when it rejects. */
export async function transact<T>(
  session: Session,
  scope: Scope,
  work: (transaction: Queryable) => Promise<T>,
): Promise<T> {
  // Not waited for: it goes out together with the first statement.
  const begun = Promise.all([session.query(beginOf(scope)), session.query(SET, settingOf(scope))]);
  begun.catch(() => undefined);
  try {
    const result = await work({ query: (text, values) => session.query(text, values) });
    await begun;
    await session.commit();
    return result;
  } catch (error) {
    // When this fails too, the session is marked broken and the server rolls back by itself.
    await session.query('ROLLBACK').catch(() => undefined);
    // What went wrong first is what is told.
    await begun;
    throw error;
  }
}
