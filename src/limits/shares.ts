// How many requests a known caller may make: so many each second of all its tenant, and of each principal.
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';
import type { LimitsOf } from './limits-of.ts';
import { Meter, type Rate } from './meter.ts';
import { rateLimited } from './too-many.ts';

/** Who asks; `key` is tenant and principal in one. */
export interface Asker {
  readonly tenantId: TenantId;
  readonly key: string;
}

export interface Shares {
  /** Counts one request. Throws `rate_limited`, and then nothing is counted. */
  take(asker: Asker): void;
}

const MAX_TENANTS = 10_000;
const MAX_PRINCIPALS = 100_000;
/** So much of a second's worth may come at once, after a pause. */
const BURST_SECONDS = 2;
/** An agent that connects asks for several things at once, whatever its rate. */
const LEAST_BURST = 20;

export function createShares(limitsOf: LimitsOf, clock: Pick<Clock, 'now'>): Shares {
  const tenants = new Meter(MAX_TENANTS);
  const principals = new Meter(MAX_PRINCIPALS);
  return {
    take({ tenantId, key }) {
      const { requestsPerSecond: all, requestsPerSecondPerPrincipal: each } = limitsOf(tenantId);
      if (all === undefined && each === undefined) return;
      const now = clock.now();
      const waitMs = each === undefined ? 0 : principals.take(key, rateOf(each), now);
      if (waitMs > 0) throw rateLimited(`At most ${inWords(each)} a second for one person; try again shortly.`, waitMs);
      const tenantWaitMs = all === undefined ? 0 : tenants.take(tenantId, rateOf(all), now);
      if (tenantWaitMs === 0) return;
      // A request that is not served shall not use up its person's own share.
      if (each !== undefined) principals.giveBack(key, rateOf(each));
      throw rateLimited(`At most ${inWords(all)} a second for this tenant; try again shortly.`, tenantWaitMs);
    },
  };
}

const rateOf = (perSecond: number): Rate => ({
  perSecond,
  burst: Math.max(LEAST_BURST, perSecond * BURST_SECONDS),
});

const inWords = (requests = 0): string => (requests === 1 ? '1 request' : `${String(requests)} requests`);
