// What went wrong on purpose becomes a page with its message, which is safe to show; anything else rises.
import { type ErrorCode, ProxyError } from '../shared/errors.ts';
import { type Page, refuse } from './answer.ts';

const STATUS: Partial<Readonly<Record<ErrorCode, number>>> = {
  denied: 403,
  rate_limited: 429,
  overloaded: 503,
  stopping: 503,
  egress_denied: 502,
  upstream_unavailable: 502,
  upstream_protocol: 502,
  upstream_timeout: 504,
};

export function toRefusal(error: unknown): Page {
  if (!(error instanceof ProxyError) || error.code === 'internal') throw error;
  const refusal = refuse(STATUS[error.code] ?? 400, error.message);
  const ms = error.data?.['retryAfterMs'];
  return typeof ms === 'number' ? { ...refusal, retryAfterS: Math.ceil(ms / 1000) } : refusal;
}
