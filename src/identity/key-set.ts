// A JSON Web Key Set from outside, reduced to public signature keys.

import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import { OwnError } from '../shared/errors.ts';
import { isJsonObject } from '../wire/reply.ts';

const MAX_KEYS = 100;
/** No `oct`: a symmetric key in a public document is known to everyone. No `d`: we have no use for private keys. */
const KEY_TYPES: readonly unknown[] = ['RSA', 'EC', 'OKP'];
const MEMBERS = ['kty', 'kid', 'alg', 'use', 'crv', 'n', 'e', 'x', 'y'] as const;

/** Throws for anything but a set of at most 100 keys; single keys of a form we do not know are left out. */
export function parseKeySet(value: unknown): JWTVerifyGetKey {
  const keys = isJsonObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new OwnError('not a key set of at most 100 keys');
  return createLocalJWKSet({ keys: keys.filter(isJsonObject).filter(isPublicSignatureKey).map(toPublicKey) });
}

function isPublicSignatureKey(key: Readonly<Record<string, unknown>>): boolean {
  return KEY_TYPES.includes(key['kty']);
}

function toPublicKey(key: Readonly<Record<string, unknown>>): JWK {
  const picked: { [name in (typeof MEMBERS)[number]]?: string } = {};
  for (const name of MEMBERS) {
    const member = key[name];
    if (typeof member === 'string') picked[name] = member;
  }
  return picked;
}
