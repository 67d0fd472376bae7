// Makes sense of what token endpoints answer, before openid-client sees it: it is strict, and they are
// not. A grant's life hangs on the difference between "no", "yes" and "no answer" (RFC 6749 §5.2).
import { OAuthRefusal, OAuthUnavailable } from '../../credential/authorization-server.ts';
import { isJsonObject, type JsonObject } from '../../wire/reply.ts';
import { retryAfterMs } from '../http-errors.ts';
import { readJsonObject, readText } from './documents.ts';
import { errorWord, INVALID_ANSWER, UNKNOWN_ERROR } from './errors.ts';
import type { OAuthAnswer } from './oauth-fetch.ts';

const MAX_LIFETIME_S = 365 * 24 * 3600;
/** Statuses with which OAuth errors come (RFC 6749 §5.2); some send them with 403. */
const REFUSALS = new Set([400, 401, 403]);
/** What is called a bearer token where it is called something; `n_a` is of RFC 8693 §2.2.1. */
const BEARER = new Set(['bearer', 'bearertoken', 'user', 'bot', 'n_a']);

/**
 * RFC 6749 §A.12, without blanks at its ends, which no header keeps (RFC 9110 §5.5). Anything else could not be sent as
 * it is, so nobody would be connected by it (B245).
 */
const TOKEN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The members that are used of it, in the form that RFC 6749 §5.1 gives them. */
export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly refresh_token?: string;
  readonly expires_in?: number;
  readonly scope?: string;
  readonly id_token?: string;
}

/**
 * Throws OAuthRefusal for an error, however it is dressed, and OAuthUnavailable for no answer at all.
 * `withIdToken`: only where a person is to be proved by it; it is never used as a token (T6).
 */
export function readTokenAnswer(answer: OAuthAnswer, now: number, withIdToken: boolean): TokenAnswer {
  const { status } = answer;
  if (status < 200 || status >= 300) throw failureOf(answer, now);
  const said = parseBody(answer.body);
  if (said === undefined && answer.body.trim() !== '')
    throw new OAuthUnavailable('The authorization server answered something that is no token answer.');
  const word = errorIn(said);
  if (word !== undefined) throw new OAuthRefusal(word);
  const tokens = tokensIn(said);
  const idToken = withIdToken ? readText(said?.['id_token']) : undefined;
  return idToken === undefined ? tokens : { ...tokens, id_token: idToken };
}

/** What an answer without success means, also for other endpoints that answer as the token endpoint does. */
export function failureOf(answer: OAuthAnswer, now: number): OAuthRefusal | OAuthUnavailable {
  const word = REFUSALS.has(answer.status) ? errorIn(parseBody(answer.body)) : undefined;
  if (word !== undefined) return new OAuthRefusal(word);
  const waitMs = retryAfterMs(answer.headers.get('retry-after') ?? undefined, now);
  return new OAuthUnavailable(`The authorization server answered with HTTP status ${answer.status}.`, waitMs);
}

/** JSON or a form, whatever the content type says, if it says one. */
function parseBody(body: string): JsonObject | undefined {
  const json = readJsonObject(body);
  if (json !== undefined) return json;
  const form = /^[\w.-]{1,64}=[^<>\s]*$/.test(body.trim()) ? new URLSearchParams(body.trim()) : undefined;
  return form?.has('access_token') === true || form?.has('error') === true ? Object.fromEntries(form) : undefined;
}

/** Also with `ok: false` beside it, or with a status that says success (B202, B204). */
function errorIn(said: JsonObject | undefined): string | undefined {
  const error = said?.['error'];
  if (typeof error === 'string' && error !== '') return errorWord(error);
  if (isJsonObject(error)) return UNKNOWN_ERROR;
  return said?.['ok'] === false ? UNKNOWN_ERROR : undefined;
}

function tokensIn(said: JsonObject | undefined): TokenAnswer {
  const accessToken = readText(said?.['access_token']);
  const type = readText(said?.['token_type'])?.toLowerCase() ?? 'bearer';
  // RFC 6749 §7.1: a token of a kind that is not understood must not be used.
  if (said === undefined || accessToken === undefined || !TOKEN.test(accessToken) || !BEARER.has(type))
    throw new OAuthRefusal(INVALID_ANSWER);
  const refreshToken = readText(said['refresh_token']);
  const expiresIn = readLifetime(said['expires_in']);
  const scope = readScope(said['scope']);
  return {
    access_token: accessToken,
    token_type: 'bearer',
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** Whole seconds, as number or text; what is neither says nothing (B193). */
export function readLifetime(value: unknown): number | undefined {
  const isNumeric =
    typeof value === 'number' || (typeof value === 'string' && /^\s*-?\d{1,15}(?:\.\d{1,15})?\s*$/.test(value));
  const seconds = isNumeric ? Math.floor(Number(value)) : NaN;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_LIFETIME_S) : undefined;
}

/** A list is joined; commas apart is how some write it, and no scope of theirs has a comma in it. */
function readScope(value: unknown): string | undefined {
  const text = Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(' ') : readText(value);
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return undefined;
  return /\s/.test(trimmed) ? trimmed : trimmed.replaceAll(',', ' ').trim();
}
