// Master keys that this process holds itself, from the environment or a file: wraps with the first, opens with any.
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { OwnError } from '../shared/errors.ts';
import { type KeyProvider, keyUnknown, NotAuthentic } from './key-provider.ts';
import { openBox, sealBox } from './sealed-box.ts';

const KEY_BYTES = 32;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

interface MasterKey {
  readonly id: string;
  readonly key: KeyObject;
}

export type LocalKeys = Pick<KeyProvider, 'list' | 'wrap' | 'unwrap'>;

/** Throws for a key that is not 32 bytes in base64, without repeating it. */
export function createLocalKeys(base64Keys: readonly string[]): LocalKeys {
  const keys = new Map(base64Keys.map(toMasterKey).map((key) => [key.id, key]));
  const [first] = keys.values();
  if (first === undefined) throw new OwnError('There is no master key.');
  return {
    list: async () => [...keys.keys()].map((id) => ({ id, isCurrent: id === first.id })),
    wrap: async (plaintext, words) => ({ keyId: first.id, bytes: sealBox(first.key, ['v1', ...words], plaintext) }),
    async unwrap({ keyId, bytes }, words) {
      const master = keys.get(keyId);
      if (master === undefined) throw keyUnknown(keyId);
      try {
        return openBox(master.key, ['v1', ...words], bytes);
      } catch (cause) {
        throw new NotAuthentic('not authentic', { cause });
      }
    },
  };
}

/** Keys that stay as they are while the process runs. */
export function createStaticKeyProvider(base64Keys: readonly string[]): KeyProvider {
  return { ...createLocalKeys(base64Keys), onChange: () => () => undefined };
}

/** Named after its hash: that tells nothing of the key, and two nodes name it alike. */
function toMasterKey(base64: string, index: number): MasterKey {
  // Decoding forgives what it does not know, and half a key would pass for another one.
  const text = base64.trim();
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.length !== KEY_BYTES) throw new OwnError(`Master key ${index + 1} is not ${KEY_BYTES} bytes in base64.`);
  const id = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}
