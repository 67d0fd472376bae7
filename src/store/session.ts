// One connection on loan from the pool; it goes back only while it is known to be in step with the server.
import pg from 'pg';
import { ProxyError } from '../shared/errors.ts';

export interface Queryable {
  /** `Row` is the claim; the column list of `text`, beside it, is the proof. `jsonb` columns are `unknown`. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export interface Session extends Queryable {
  /** Rejects with `NotCommitted` when the server rolled back instead, which it does without an error. */
  commit(): Promise<void>;
  release(): void;
}

/** A statement failed before, and whoever sent it went on as if it had not. */
class NotCommitted extends Error {
  constructor(answer: string) {
    super(`the transaction was not committed: the server answered ${answer}, as a statement in it had failed`);
  }
}

export function createSession(client: pg.PoolClient): Session {
  let broken: Error | undefined;
  const ask = async <Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ): Promise<pg.QueryResult<Row>> => {
    try {
      return await client.query<Row>(text, [...values]);
    } catch (error) {
      // Without an answer (a timeout, a cut) it may still be on its way; "not now" is often a last word.
      if (!isAnswer(error)) broken = error instanceof Error ? error : new Error('query failed');
      return rethrow(error);
    }
  };
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await ask<Row>(text, values)).rows,
    async commit() {
      const { command } = await ask('COMMIT', []);
      if (command !== 'COMMIT') throw new NotCommitted(command);
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
