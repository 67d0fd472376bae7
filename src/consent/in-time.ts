// Gives what another site is asked for a bound, after which the person is told.
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { waitFor } from '../shared/single-flight.ts';

const OTHER_SITE_MS = 20_000;

export async function inTime<T>(clock: Clock, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = new AbortController();
  const late = new ProxyError('upstream_timeout', 'The other site did not answer in time. Try again.');
  const cancel = clock.after(OTHER_SITE_MS, () => timeout.abort(late));
  try {
    return await waitFor(work(timeout.signal), timeout.signal);
  } finally {
    cancel();
  }
}
