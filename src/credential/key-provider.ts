// Port: the master keys that wrap the tenants' data keys; here as keys given at the start, a KMS fits the same shape.
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';

export interface MasterKey {
  /** Stored beside what the key wrapped; says nothing about the key. */
  readonly id: string;
  readonly key: KeyObject;
}

export interface KeyProvider {
  /** Wraps what is new. */
  current(): Promise<MasterKey>;
  /** Any key that may still open something. */
  find(id: string): Promise<MasterKey | undefined>;
}

const KEY_BYTES = 32;

/** The first key seals, all open. Throws for a key that is not 32 bytes in base64, without repeating it. */
export function createStaticKeyProvider(base64Keys: readonly string[]): KeyProvider {
  const keys = base64Keys.map(toMasterKey);
  const [first] = keys;
  if (first === undefined) throw new Error('There is no master key.');
  const byId = new Map(keys.map((key) => [key.id, key]));
  return {
    current: () => Promise.resolve(first),
    find: (id) => Promise.resolve(byId.get(id)),
  };
}

function toMasterKey(base64: string, index: number): MasterKey {
  const bytes = Buffer.from(base64.trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new Error(`Master key ${index + 1} is not ${KEY_BYTES} bytes in base64.`);
  const id = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}
