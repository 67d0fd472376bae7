// What somebody is told who asks too often.
import { ProxyError } from '../shared/errors.ts';

/** `waitMs` may be a fraction; what is told is whole, and at least one. */
export function rateLimited(message: string, waitMs: number): ProxyError {
  return new ProxyError('rate_limited', message, { data: { retryAfterMs: Math.max(1, Math.ceil(waitMs)) } });
}
