// Every error that leaves this folder is built here or nearby, from nothing but words of ours and one
// word of the server's: openid-client keeps the callback's parameters and whole answers in its causes (T23).
import { ClientError } from 'openid-client';
import { OAuthRefusal, OAuthUnavailable } from '../../credential/authorization-server.ts';
import { OwnError, ProxyError } from '../../shared/errors.ts';

/** Ours, for an answer that breaks the rules, of a browser or of a token endpoint. */
export const INVALID_ANSWER = 'invalid_answer';
/** Ours, for an error that is there but cannot be shown as a word. */
export const UNKNOWN_ERROR = 'unknown_error';

/** The server's word for what went wrong, as a page may show it: a sentence may quote a token, or tell people what to do (B165). */
export const errorWord = (said: string): string => (/^[A-Za-z0-9_.:-]{1,64}$/.test(said) ? said : UNKNOWN_ERROR);

/** Client faults of a callback or ID token, as the library names them. */
const BROKEN_ANSWERS = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_UNSUPPORTED_OPERATION',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_PARSE_ERROR',
]);

const isOurs = (error: unknown): error is Error =>
  error instanceof OAuthRefusal || error instanceof OAuthUnavailable || error instanceof ProxyError;

/** Our own error out of whatever openid-client wrapped it in; anything else becomes a fresh one. */
export function translateError(error: unknown, signal: AbortSignal): unknown {
  if (isOurs(error)) return error;
  if (error instanceof Error && isOurs(error.cause)) return error.cause;
  if (signal.aborted) return signal.reason;
  if (error instanceof ClientError && BROKEN_ANSWERS.has(error.code ?? '')) return new OAuthRefusal(INVALID_ANSWER);
  return new OAuthUnavailable('The authorization server gave no usable answer.', undefined, bareCause(error));
}

/** Class and code of an error, without message and cause: those of fetch name addresses with their queries. */
export function bareCause(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error) ?? codeOf(error.cause);
  return code === undefined ? new OwnError(error.name.slice(0, 40)) : Object.assign(new OwnError(code), { code });
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : undefined;
}

/** For callers whose errors go to people: nothing is known, so later is the advice. */
export function asProxyError(error: unknown): unknown {
  if (!(error instanceof OAuthUnavailable)) return error;
  const data = error.retryAfterMs === undefined ? undefined : { retryAfterMs: error.retryAfterMs };
  return new ProxyError('upstream_unavailable', error.message, { data, cause: error.cause });
}
