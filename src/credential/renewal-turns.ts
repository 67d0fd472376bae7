// So many renewals of one tenant, and of one of its servers, at a time: a place of sign-in that hangs holds up
// no other tenant, and for long not even its own.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { Gates } from '../limits/gates.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Renewed } from './renewal-failure.ts';

export interface RenewalTurns {
  /** Runs the work in its turn; `later` when that does not come. Rejects as the work does. */
  run(server: UpstreamServer, work: () => Promise<Renewed>): Promise<Renewed>;
  /** Nobody waits for a turn any more. */
  close(): void;
}

const OF_TENANT = 64;
const OF_SERVER = 16;
const LONGEST_LINE = 1_000;
/** Calls wait behind each of them. */
const LINE_MS = 10_000;

export function createRenewalTurns(clock: Pick<Clock, 'after'>): RenewalTurns {
  const ofTenants = new Gates({ places: OF_TENANT, longestLine: LONGEST_LINE });
  const ofServers = new Gates({ places: OF_SERVER, longestLine: LONGEST_LINE });
  const waiting = new Set<AbortController>();

  return {
    async run(server, work) {
      const late = new AbortController();
      const cancel = clock.after(LINE_MS, () => late.abort());
      waiting.add(late);
      let hasBegun = false;
      const begin = (): Promise<Renewed> => {
        hasBegun = true;
        cancel();
        waiting.delete(late);
        return work();
      };
      const { tenantId, id } = server;
      const inTenant = (): Promise<Renewed> => ofTenants.run(tenantId, begin, late.signal);
      try {
        return await ofServers.run(`${tenantId}\u0000${id}`, inTenant, late.signal);
      } catch (error) {
        if (hasBegun || !(late.signal.aborted || error instanceof ProxyError)) throw error;
        return { kind: 'later', retryAfterMs: 1_000, reason: 'too many credentials are being renewed' };
      } finally {
        cancel();
        waiting.delete(late);
      }
    },
    close() {
      for (const late of waiting) late.abort();
    },
  };
}
