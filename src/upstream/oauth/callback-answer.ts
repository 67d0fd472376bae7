// What a browser brought back, checked before anything is sent anywhere: which attempt it answers, and
// which authorization server answered (RFC 9207 §2.4, T3).
import { type CodeExchange, OAuthRefusal, type SignInPlace } from '../../credential/authorization-server.ts';
import { errorWord, INVALID_ANSWER } from './errors.ts';

/** Ours: the answer names another authorization server, or none where one was promised. */
const ISSUER_MISMATCH = 'issuer_mismatch';
/** Ours: the answer belongs to another attempt. */
const STATE_MISMATCH = 'state_mismatch';

type Expected = Pick<SignInPlace, 'issuer' | 'answersWithIssuer'> & Pick<CodeExchange, 'state'>;

/**
 * Throws OAuthRefusal. The issuer comes before the error: what a foreign server says of an attempt is not
 * its outcome. Compared as plain text, as the attempt recorded it; openid-client checks once more.
 */
export function checkCallback({ issuer, answersWithIssuer, state }: Expected, query: URLSearchParams): void {
  if (!isJust(query.getAll('state'), state)) throw new OAuthRefusal(STATE_MISMATCH, true);
  const issuers = query.getAll('iss');
  const isMissing = issuers.length === 0;
  if (isMissing ? answersWithIssuer : !isJust(issuers, issuer)) throw new OAuthRefusal(ISSUER_MISMATCH, true);
  const error = query.get('error');
  if (error !== null && error !== '') throw new OAuthRefusal(errorWord(error), true);
  const codes = query.getAll('code');
  if (codes.length !== 1 || codes[0] === '') throw new OAuthRefusal(INVALID_ANSWER, true);
}

const isJust = (values: readonly string[], wanted: string): boolean => values.length === 1 && values[0] === wanted;
