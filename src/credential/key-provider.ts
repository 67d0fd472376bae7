// Port: the master keys that wrap the tenants' data keys. It wraps and unwraps and never hands out a key, so that a
// key management service, which keeps its own to itself, fits: AWS and Google take `words` as their additional data.
import { OwnError, ProxyError } from '../shared/errors.ts';

export interface Wrapped {
  /** Stored beside what it wrapped; says nothing about the key. */
  readonly keyId: string;
  readonly bytes: Buffer;
}

export interface MasterKeyName {
  readonly id: string;
  /** The one that wraps. Exactly one is. */
  readonly isCurrent: boolean;
}

export interface KeyProvider {
  /** Every key that opens something. */
  list(): Promise<readonly MasterKeyName[]>;
  /** At most 4 KiB, which is what services take. `words` say what it is and have to be the same when it is unwrapped. */
  wrap(plaintext: Buffer, words: readonly string[]): Promise<Wrapped>;
  /** Rejects with `keyUnknown` for a key that it does not have, and with `NotAuthentic` for what it did not wrap like that. */
  unwrap(wrapped: Wrapped, words: readonly string[]): Promise<Buffer>;
  /** Hears when `list` would say something else; gives the way to stop. */
  onChange(listener: () => void): () => void;
}

/** What was to be unwrapped was changed, or is something else. */
export class NotAuthentic extends Error {}

const UNKNOWN = 'master_key_unknown';

/** Only the operator can help: the key has to come back, or what it wrapped is lost. */
export function keyUnknown(id: string): ProxyError {
  return new ProxyError('overloaded', 'The master key for this is not here. Its operator has to give it back.', {
    data: { reason: UNKNOWN },
    cause: new OwnError(`master key ${id} is not among those given`),
  });
}

/** Whoever asks again later may be served. */
export function keysAway(cause: unknown): ProxyError {
  return new ProxyError('overloaded', 'The keeper of the master keys does not answer at the moment.', {
    data: { reason: 'master_keys_away' },
    cause,
  });
}

export const isKeyUnknown = (error: unknown): boolean =>
  error instanceof ProxyError && error.data?.['reason'] === UNKNOWN;
