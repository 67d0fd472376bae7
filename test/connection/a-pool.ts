// The pool of the tests, and the usual way to ask it.
import type { Lease } from '../../src/connection/lease.ts';
import { aServer, keyOf, NEVER, PoolBench } from './support.ts';

export const server = aServer();
export const anna = keyOf('anna');

export const acquire = (bench: PoolBench, credential = anna, of = server, signal = NEVER): Promise<Lease> =>
  Promise.resolve(bench.pool.acquire(of, credential, signal));

export async function held(bench: PoolBench, count: number, of = server): Promise<readonly Lease[]> {
  return Promise.all(Array.from({ length: count }, () => acquire(bench, anna, of)));
}
