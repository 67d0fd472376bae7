// What an upstream's HTTP status means to us. Its 401 and 403 become ours nowhere: they say that the
// credential was refused, and the request did not run (RFC 9110 §15.5.2).
import { CredentialRefusedError, NotRunError, ProxyError } from '../shared/errors.ts';
import { Reply } from '../wire/reply.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { readChallenge } from './oauth/challenge.ts';

/** The server no longer knows the session; by the protocol the request did not run (2025-11-25 §transports, session management). */
export class SessionLostError extends NotRunError {
  constructor() {
    super('The server has forgotten the session.');
    this.name = 'SessionLostError';
  }
}

/** Epoch-free: seconds or a date (RFC 9110 §10.2.3) as milliseconds from `now`, at most five minutes. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,7}$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, 300_000) : undefined;
}

/**
 * Gives the answer when the body is a JSON-RPC answer, whatever the status (the modern era sends errors
 * with 400 and 404). Throws what the status means otherwise.
 */
export function replyOf(answer: HttpAnswer, now: number, hasSession: boolean): Reply {
  const { status } = answer;
  if (status === 401 || status === 403)
    throw new CredentialRefusedError(status, answer.challenge, missingScopes(status, answer.challenge));
  if (status === 404 && hasSession) throw new SessionLostError();
  const reply = isJson(answer) ? readReply(answer) : undefined;
  if (reply !== undefined && (isWhole(status) || reply.isError)) return reply;
  throw statusError(answer, now);
}

/** 205 has no content, and 206 is a part of something that nobody asked for in parts (RFC 9110 §15.3.6, §15.3.7). */
const isWhole = (status: number): boolean => status < 300 && status !== 205 && status !== 206;

/** 403 `insufficient_scope` is about this request, not about the credential (RFC 6750 §3.1). */
function missingScopes(status: number, header: string | undefined): readonly string[] | undefined {
  if (status !== 403 || header === undefined) return undefined;
  const { error, scopes } = readChallenge(header, '');
  return error === 'insufficient_scope' ? scopes : undefined;
}

// An error body often comes without a type; it is still read.
const isJson = ({ contentType, status, body }: HttpAnswer): boolean =>
  body.length > 0 &&
  (contentType === 'application/json' || contentType.endsWith('+json') || (contentType === '' && status >= 400));

function readReply(answer: HttpAnswer): Reply | undefined {
  try {
    return Reply.from(answer.body);
  } catch (error) {
    if (answer.status < 300) throw error;
    return undefined;
  }
}

function statusError(answer: HttpAnswer, now: number): ProxyError {
  const { status, contentType } = answer;
  const waitMs = retryAfterMs(answer.retryAfter, now);
  if (status === 429) return tooMany(waitMs);
  if (status >= 500) {
    return new ProxyError('upstream_unavailable', `The server answered with HTTP status ${status}.`, {
      data: waitMs === undefined ? { status } : { status, retryAfterMs: waitMs },
    });
  }
  if (status >= 300 && status < 400)
    return new ProxyError(
      'upstream_protocol',
      `The server answered with a redirect (${status}), which is not followed.`,
      { data: { status } },
    );
  const kind = contentType === '' ? 'no content type' : contentType.slice(0, 80);
  return new ProxyError(
    'upstream_protocol',
    `The server answered ${status} with ${kind} instead of a JSON-RPC answer.`,
    { data: { status } },
  );
}

/** 429: the server turned the request away before it ran, and asked to be left alone for a while. */
function tooMany(waitMs: number | undefined): NotRunError {
  const hint = waitMs === undefined ? '' : ` Try again in ${Math.ceil(waitMs / 1000)} s.`;
  return new NotRunError(`The server is receiving too many requests.${hint}`, { waitMs, mayRetryNow: false });
}
