// Gives every question to the keeper of the master keys its bound, and a failure its name. Nothing of a failure is
// remembered: who asks again is served as soon as it is back.
import type { Clock } from '../shared/clock.ts';
import { OwnError, ProxyError } from '../shared/errors.ts';
import { waitFor } from '../shared/single-flight.ts';
import { withinTime } from '../shared/within-time.ts';
import { type KeyProvider, keysAway, NotAuthentic } from './key-provider.ts';

const ANSWER_MS = 5_000;

export function boundKeyProvider(provider: KeyProvider, clock: Clock): KeyProvider {
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    const tooLate = (): Error => keysAway(new OwnError('no answer in time'));
    try {
      return await withinTime(clock, ANSWER_MS, tooLate, (signal) => waitFor(question(), signal));
    } catch (error) {
      throw error instanceof ProxyError || error instanceof NotAuthentic ? error : keysAway(error);
    }
  };
  return {
    list: () => ask(() => provider.list()),
    wrap: (plaintext, words) => ask(() => provider.wrap(plaintext, words)),
    unwrap: (wrapped, words) => ask(() => provider.unwrap(wrapped, words)),
    onChange: (listener) => provider.onChange(listener),
  };
}
