// Our own key at authorization servers (private_key_jwt, RFC 7523): made once for the installation, sealed
// by the master key, its public half shown at /oauth/jwks.json.
import { createPrivateKey, webcrypto } from 'node:crypto';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId } from '../shared/id.ts';
import type { JsonObject } from '../wire/reply.ts';
import type { KeyProvider } from './key-provider.ts';
import { openBox, sealBox } from './sealed-box.ts';
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

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };

export function createClientKeys({ store, masterKeys, clock }: ClientKeysDeps): ClientKeys {
  let stored: Promise<readonly StoredServiceKey[]> | undefined;

  const make = async (): Promise<readonly StoredServiceKey[]> => {
    const there = await store.list();
    if (there.length > 0) return there;
    const pair = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const id = randomId(12);
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey));
    const { kty, crv, x, y } = await webcrypto.subtle.exportKey('jwk', pair.publicKey);
    const publicJwk = { kty, crv, x, y, kid: id, alg: 'ES256', use: 'sig' };
    const master = await masterKeys.current();
    const key = { id, publicJwk, sealed: sealBox(master.key, ['service-key', id], pkcs8), masterKeyId: master.id };
    return store.ensure(key, clock.now());
  };

  const all = (): Promise<readonly StoredServiceKey[]> => {
    stored ??= make().catch((error: unknown) => {
      stored = undefined;
      throw error;
    });
    return stored;
  };

  const privateKeyOf = async ({ id, sealed, masterKeyId }: StoredServiceKey): Promise<webcrypto.CryptoKey> => {
    const master = await masterKeys.find(masterKeyId);
    if (master === undefined) throw new ProxyError('internal', 'The key of this installation cannot be opened.');
    const pkcs8 = openBox(master.key, ['service-key', id], sealed);
    // Read by node first, whose errors quote nothing.
    createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    return webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']);
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
