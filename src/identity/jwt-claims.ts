// Reads what we need out of claims whose signature, issuer and times already hold. Each function gives
// undefined (or nothing) for a value of the wrong form; none guesses.
import { type PrincipalId, parsePrincipalId } from '../shared/id.ts';
import { jwtPrincipal } from './caller.ts';
import type { Claims } from './jwt-form.ts';

const MAX_CLAIM_LENGTH = 255;
const TYPES = ['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];
const ACCESS_KINDS = ['bearer', 'dpop', 'access', 'access_token', ...TYPES];
/** The year 5138 in seconds; a larger number is milliseconds by mistake. */
const MAX_SECONDS = 100_000_000_000;

/** RFC 9068 says `at+jwt`, most identity providers say `JWT` or nothing. */
export function isAccessTokenType(typ: unknown): boolean {
  return typ === undefined || (typeof typ === 'string' && TYPES.includes(typ.toLowerCase()));
}

/**
 * An ID token tells a client who signed in there, and opens nothing. Its type seldom says so, and where the
 * audience is the client's own id it is no help either. What only an ID token carries (OpenID Connect Core
 * §3.1.3.6, §3.3.2.11), or what its provider calls it: `typ` of Keycloak, `token_use` of Cognito. Logout
 * tokens (Back-Channel Logout §2.4) have `events`.
 */
export function isOtherKindOfToken(claims: Claims): boolean {
  const kind = claims['typ'] ?? claims['token_use'];
  const isAccess = kind === undefined || (typeof kind === 'string' && ACCESS_KINDS.includes(kind.toLowerCase()));
  return !isAccess || ['at_hash', 'c_hash', 's_hash', 'events'].some((name) => Object.hasOwn(claims, name));
}

/** Non-empty text of bounded length; a number is not turned into text, a mail address is not asked for. */
export function readText(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' && claim.length <= MAX_CLAIM_LENGTH ? claim : undefined;
}

/** Issuer and claim together: one `sub` of two issuers is two people. */
export function readPrincipal(issuer: string, claim: unknown): PrincipalId | undefined {
  const subject = readText(claim);
  // A lone surrogate has no UTF-8 form, so the database would make two people one. A `#` in the
  // issuer would move the border between issuer and subject.
  if (subject === undefined || /\p{Surrogate}/u.test(subject) || issuer.includes('#')) return undefined;
  return parsePrincipalId(jwtPrincipal(issuer, subject));
}

/** OAuth's `scope` (RFC 8693 §4.2) or the `scp` list of some providers. */
export function readScopes(claims: Claims): readonly string[] {
  const said = claims['scope'] ?? claims['scp'];
  const list: readonly unknown[] = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  const scopes = list.filter((one) => typeof one === 'string').filter((one) => one !== '');
  return [...new Set(scopes)].sort();
}

export function readAgentId(claims: Claims, issuer: string): string {
  return readText(claims['client_id']) ?? readText(claims['azp']) ?? issuer;
}

/** When the token stops being good, in epoch milliseconds; undefined when `exp` cannot be seconds. */
export function readEnd(claims: Claims, maxAgeS: number, toleranceS: number): number | undefined {
  const exp = claims['exp'];
  const iat = claims['iat'];
  if (typeof exp !== 'number' || typeof iat !== 'number' || exp > MAX_SECONDS) return undefined;
  return (Math.min(exp, iat + maxAgeS) + toleranceS) * 1000;
}
