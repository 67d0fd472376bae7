// What the JSON columns of tenants and issuers say, checked again, for people write them by hand too.
import type { Issuer, SignIn, Tenant } from '../identity/tenant-store.ts';
import { ProxyError } from '../shared/errors.ts';
import { isJsonObject } from '../wire/reply.ts';

/** Throws rather than guesses: to fall back to another way of signing in would open a door. */
export function parseSignIn(column: unknown): SignIn {
  const fields = toRecord(column);
  const { mode, issuer, clientId, clientSecret, principalClaim, verifyUrl, key } = fields;
  if (mode === 'link') return { mode };
  if (mode === 'handoff' && typeof verifyUrl === 'string' && typeof key === 'string') return { mode, verifyUrl, key };
  if (mode === 'oidc' && typeof issuer === 'string' && typeof clientId === 'string') {
    return {
      mode,
      issuer,
      clientId,
      ...(typeof clientSecret === 'string' ? { clientSecret } : {}),
      ...(typeof principalClaim === 'string' ? { principalClaim } : {}),
    };
  }
  throw new ProxyError('internal', "The tenant's way of signing in cannot be read.");
}

export function parseLimits(column: unknown): Tenant['limits'] {
  return toRecord(column);
}

/** Anything but a set of keys is an empty set, by which no token is accepted. */
export function parseJwks(column: unknown): Issuer['jwks'] {
  if (column === null || column === undefined) return undefined;
  const { keys } = toRecord(column);
  return { keys: Array.isArray(keys) ? keys.map(toRecord) : [] };
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? { ...value } : {};
}
