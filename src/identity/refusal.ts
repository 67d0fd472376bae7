// One answer for every token that does not hold: the agent must not learn which check failed, nor
// whether a tenant, an issuer or a key exists.
import { OwnError, ProxyError } from '../shared/errors.ts';

const SENTENCE = 'The token is missing, unknown or expired.';

/** `reason` is for our own log; it must not contain the token or a claim's value. */
export function refusal(reason: string, cause?: unknown): ProxyError {
  return new ProxyError('unauthenticated', SENTENCE, {
    cause: cause === undefined ? new OwnError(reason) : new OwnError(reason, { cause }),
  });
}

export function isRefusal(error: unknown): error is ProxyError {
  return error instanceof ProxyError && error.code === 'unauthenticated';
}
