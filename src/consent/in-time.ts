// Gives what another site is asked for a bound, after which the person is told.
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { waitFor } from '../shared/single-flight.ts';
import { withinTime } from '../shared/within-time.ts';

const OTHER_SITE_MS = 20_000;

const tooLate = (): Error => new ProxyError('upstream_timeout', 'The other site did not answer in time. Try again.');

export async function inTime<T>(clock: Clock, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withinTime(clock, OTHER_SITE_MS, tooLate, (signal) => waitFor(work(signal), signal));
}
