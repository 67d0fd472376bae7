// One answer for every token that does not hold: the agent must not learn which check failed, nor
// whether a tenant, an issuer or a key exists.
import { OwnError, ProxyError } from '../shared/errors.ts';

const SENTENCE = 'The token is missing, unknown or expired.';
const ADMIN_KEY_HERE = 'A key that begins with kba_ is for the admin API alone; agents have keys that begin with kb_.';

/** `reason` is for our own log; it must not contain the token or a claim's value. */
export function refusal(reason: string, cause?: unknown): ProxyError {
  return new ProxyError('unauthenticated', SENTENCE, {
    cause: cause === undefined ? new OwnError(reason) : new OwnError(reason, { cause }),
  });
}

/** Told by its form alone, without a look at what keys there are, so it tells nothing of them. */
export function refuseAdminKey(): ProxyError {
  return new ProxyError('unauthenticated', ADMIN_KEY_HERE, { cause: new OwnError('an admin key') });
}

export function isRefusal(error: unknown): error is ProxyError {
  return error instanceof ProxyError && error.code === 'unauthenticated';
}
