// Our own key at authorization servers (private_key_jwt, RFC 7523): made once for the installation, sealed
// by the master key, its public half shown at /oauth/jwks.json.
import { createPrivateKey, webcrypto } from 'node:crypto';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId } from '../shared/id.ts';
import type { JsonObject } from '../wire/reply.ts';
import { isKeyUnknown, type KeyProvider } from './key-provider.ts';
import type { ServiceKeyStore, StoredServiceKey } from './service-key-store.ts';

export interface ClientKeys {
  current(): Promise<{ readonly id: string; readonly privateKey: webcrypto.CryptoKey }>;
  /** RFC 7517, public halves only. */
  publicJwks(): Promise<{ readonly keys: readonly JsonObject[] }>;
}

export interface ClientKeysDeps {
  readonly store: ServiceKeyStore;
  readonly masterKeys: KeyProvider;
  readonly clock: Clock;
}

export const wordsOfServiceKey = (id: string): readonly string[] => ['service-key', id];

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };

export function createClientKeys({ store, masterKeys, clock }: ClientKeysDeps): ClientKeys {
  let stored: Promise<readonly StoredServiceKey[]> | undefined;
  /** By id; it never changes, and the keeper of the master keys is asked once. */
  const opened = new Map<string, webcrypto.CryptoKey>();

  const make = async (): Promise<readonly StoredServiceKey[]> => {
    const there = await store.list();
    if (there.length > 0) return there;
    const pair = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const id = randomId(12);
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey));
    const { kty, crv, x, y } = await webcrypto.subtle.exportKey('jwk', pair.publicKey);
    const publicJwk = { kty, crv, x, y, kid: id, alg: 'ES256', use: 'sig' };
    const { keyId, bytes } = await masterKeys.wrap(pkcs8, wordsOfServiceKey(id));
    return store.ensure({ id, publicJwk, sealed: bytes, masterKeyId: keyId }, clock.now());
  };

  const all = (): Promise<readonly StoredServiceKey[]> => {
    stored ??= make().catch((error: unknown) => {
      stored = undefined;
      throw error;
    });
    return stored;
  };

  const privateKeyOf = async ({ id, sealed, masterKeyId }: StoredServiceKey): Promise<webcrypto.CryptoKey> => {
    const known = opened.get(id);
    if (known !== undefined) return known;
    const pkcs8 = await masterKeys
      .unwrap({ keyId: masterKeyId, bytes: sealed }, wordsOfServiceKey(id))
      .catch((error: unknown) => {
        // Wrapped anew since it was read, perhaps: the next who asks reads it again.
        if (isKeyUnknown(error)) stored = undefined;
        throw error;
      });
    // Read by node first, whose errors quote nothing.
    createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    const key = await webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']);
    opened.set(id, key);
    return key;
  };

  return {
    async current() {
      const [newest] = await all();
      if (newest === undefined) throw new ProxyError('internal', 'This installation has no key.');
      return { id: newest.id, privateKey: await privateKeyOf(newest) };
    },
    publicJwks: async () => ({ keys: (await all()).map(({ publicJwk }) => publicJwk) }),
  };
}
