// Master keys that a test turns: other keys, or none that answer.
import { randomBytes } from 'node:crypto';
import type { KeyProvider } from '../../src/credential/key-provider.ts';
import { createLocalKeys } from '../../src/credential/local-keys.ts';

export const newMasterKey = (): string => randomBytes(32).toString('base64');

export interface TurningKeys extends KeyProvider {
  /** The first wraps, all open; whoever listens is told. */
  turn(...base64Keys: readonly string[]): void;
  /** As a service does that cannot be reached. */
  isAway: boolean;
  /** Of the key that wraps. */
  currentId(): Promise<string>;
}

export function turningKeys(...base64Keys: readonly string[]): TurningKeys {
  let keys = createLocalKeys(base64Keys);
  const listeners = new Set<() => void>();
  const ask = async <T>(question: () => Promise<T>): Promise<T> => {
    if (provider.isAway) throw new Error('connect ECONNREFUSED');
    return question();
  };
  const provider: TurningKeys = {
    isAway: false,
    list: () => ask(() => keys.list()),
    wrap: (plaintext, words) => ask(() => keys.wrap(plaintext, words)),
    unwrap: (wrapped, words) => ask(() => keys.unwrap(wrapped, words)),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    turn(...anew) {
      keys = createLocalKeys(anew);
      for (const listener of listeners) listener();
    },
    currentId: async () => (await keys.list()).find(({ isCurrent }) => isCurrent)?.id ?? '',
  };
  return provider;
}
