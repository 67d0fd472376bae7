// Names to addresses. Tenants' names are asked of the name servers alone (c-ares): no hosts file, no search
// domains, and no thread of the pool held by a name server that keeps silent. A name that the operator vouches
// for is looked up as every program on this machine does, so that names of containers and clusters work.
import { lookup, Resolver } from 'node:dns/promises';
import type { Clock } from '../../shared/clock.ts';

export interface ResolveOptions {
  /** The operator named the host. */
  readonly isNamed: boolean;
}

/** All addresses of a name, in the order to try them. Rejects with a system error when there are none. */
export type Resolve = (host: string, options: ResolveOptions) => Promise<readonly string[]>;

const TRY_MS = 2_000;
const TRIES = 2;
/** On both families together; asking stops then. */
const RESOLVE_MS = 4_000;

/** @param servers of a test; left out, those of the system */
export function createResolve(clock: Clock, servers?: readonly string[]): Resolve {
  return async (host, { isNamed }) => {
    if (isNamed) return (await lookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address);
    // One for each name: cancelling ends all that a resolver has asked.
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const giveUp = clock.after(RESOLVE_MS, () => resolver.cancel());
    try {
      const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      // One family may have no answer, or a name server that fails on it; what there is gets checked all the same.
      const found = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (found.length === 0) throw (four as PromiseRejectedResult).reason;
      return found;
    } finally {
      giveUp();
    }
  };
}
