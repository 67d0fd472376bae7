// Every request of a known caller counts, whatever is in it, and before it is read: what is read costs the other tenants too.
import type { IncomingMessage } from 'node:http';
import type { Asker, Shares } from '../limits/shares.ts';
import { type ProxyError, toProxyError } from '../shared/errors.ts';

/** What comes beyond the share is read up to this many bytes, only to be told by its id that it was not done. */
const MAX_REFUSED_BYTES = 64 * 1024;

/** `rate_limited` when there are too many; given and not thrown, for some are heeded though. */
export function countIn(shares: Shares, asker: Asker): ProxyError | undefined {
  try {
    shares.take(asker);
    return undefined;
  } catch (error) {
    return toProxyError(error);
  }
}

/** Whether a request beyond the share is so small that it is read; a body that does not say its size is not. */
export function isReadThough({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return length !== undefined && Number(length) <= MAX_REFUSED_BYTES;
}
