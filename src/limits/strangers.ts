// What an address may ask for before anybody knows who asks. Only what came without a credential known to
// be good is counted, so that those with good ones are not hurt by whoever shares their address (T28).
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';
import type { Logger } from '../shared/logger.ts';
import { Meter, type Rate } from './meter.ts';
import { rateLimited } from './too-many.ts';

export interface Strangers {
  /**
   * Counts a request without a credential known to be good, before anything is looked up for it. Throws
   * `rate_limited`, and then nothing is counted.
   */
  count(address: string): void;
  /** Its credential was good after all, or could not be judged. */
  forgive(address: string): void;
  /** Counts a page or document that is shown to anybody. Throws `rate_limited`. */
  countPage(address: string): void;
  /** Counts somebody unknown who is sent off to be proved, which writes a row. Throws `rate_limited`. */
  countDeparture(address: string, tenantId: TenantId): void;
}

/** Beyond it the address seen longest ago is forgotten. */
const MAX_ADDRESSES = 50_000;
const REQUESTS_PER_SECOND = 50;
/** After a restart nobody is known yet, and many come at once. */
const REQUESTS_AT_ONCE = 1_000;
const PAGES_PER_SECOND = 20;
const PAGES_AT_ONCE = 300;
const DEPARTURES_PER_SECOND = 1;
const DEPARTURES_AT_ONCE = 60;
/** Of one tenant, from wherever. */
const TENANT_DEPARTURES_PER_SECOND = 20;
const TENANT_DEPARTURES_AT_ONCE = 600;
const REQUESTS: Rate = { perSecond: REQUESTS_PER_SECOND, burst: REQUESTS_AT_ONCE };
const PAGES: Rate = { perSecond: PAGES_PER_SECOND, burst: PAGES_AT_ONCE };
const DEPARTURES: Rate = { perSecond: DEPARTURES_PER_SECOND, burst: DEPARTURES_AT_ONCE };
const TENANT_DEPARTURES: Rate = { perSecond: TENANT_DEPARTURES_PER_SECOND, burst: TENANT_DEPARTURES_AT_ONCE };
/** Between two lines in the log about addresses that ask too often. */
const QUIET_MS = 60_000;

export function createStrangers(clock: Pick<Clock, 'now'>, logger: Logger): Strangers {
  const requests = new Meter(MAX_ADDRESSES);
  const pages = new Meter(MAX_ADDRESSES);
  const departures = new Meter(MAX_ADDRESSES);
  const tenantDepartures = new Meter(MAX_ADDRESSES);
  let loggedAt = -Infinity;

  const refused = (address: string, what: string, waitMs: number): Error => {
    if (clock.now() - loggedAt >= QUIET_MS) {
      loggedAt = clock.now();
      logger.warn({ address, what }, 'an address asks too often without a good credential');
    }
    return rateLimited(`Too many ${what} come from your network; wait a little and try again.`, waitMs);
  };
  const take = (meter: Meter, rate: Rate, address: string, what: string): void => {
    const waitMs = meter.take(address, rate, clock.now());
    if (waitMs > 0) throw refused(address, what, waitMs);
  };

  return {
    count: (address) => take(requests, REQUESTS, address, 'requests without a good credential'),
    forgive: (address) => requests.giveBack(address, REQUESTS),
    countPage: (address) => take(pages, PAGES, address, 'requests for pages'),
    countDeparture(address, tenantId) {
      take(departures, DEPARTURES, address, 'sign-ins');
      const waitMs = tenantDepartures.take(tenantId, TENANT_DEPARTURES, clock.now());
      if (waitMs > 0) throw rateLimited('Too many people sign in just now; wait a little and try again.', waitMs);
    },
  };
}
