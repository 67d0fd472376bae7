// One connection on loan from the pool; it goes back only while it is known to be in step with the server.
import pg from 'pg';
import { ProxyError } from '../shared/errors.ts';

export interface Queryable {
  /** `Row` is the claim; the column list of `text`, beside it, is the proof. `jsonb` columns are `unknown`. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export interface Session extends Queryable {
  release(): void;
}

export function createSession(client: pg.PoolClient): Session {
  let broken: Error | undefined;
  return {
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      try {
        return (await client.query<Row>(text, [...values])).rows;
      } catch (error) {
        // Without an answer (a timeout, a cut) it may still be on its way; "not now" is often a last word.
        if (!isAnswer(error)) broken = error instanceof Error ? error : new Error('query failed');
        return rethrow(error);
      }
    },
    release: () => client.release(broken),
  };
}

/** Codes by which the server says "not now": connection, resources, shutting down (appendix A of its manual). */
const UNAVAILABLE = /^(?:08|53|57P)/;

function isAnswer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code ?? '');
}

/** The server's own answer as it is; everything else as `overloaded`. */
export function rethrow(error: unknown): never {
  if (isAnswer(error)) throw error;
  throw new ProxyError('overloaded', 'The database does not answer at the moment.', { cause: error });
}
