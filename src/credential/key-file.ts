// Master keys in a file: one or several, the first wraps, all open. The file is read again when it changes, so that a
// master key is rotated while serving. A reading that does not hold changes nothing and is reported.
import type { Clock } from '../shared/clock.ts';
import { OwnError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type FileReading, watchFile } from '../shared/watch-file.ts';
import type { KeyProvider } from './key-provider.ts';
import { createLocalKeys, type LocalKeys } from './local-keys.ts';

export interface KeyFile extends KeyProvider {
  /** Looks now instead of at the next second. */
  check(): Promise<void>;
  close(): void;
}

export interface KeyFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Throws when the file holds no good keys to begin with; the message names the file and no key. */
export async function openKeyFile({ path, clock, logger }: KeyFileOptions): Promise<KeyFile> {
  const listeners = new Set<() => void>();
  const watch = await watchFile({
    path,
    clock,
    onChange(reading) {
      try {
        keys = readKeys(reading);
      } catch (error) {
        logger.error(
          { path, error: describeError(error) },
          'the file of master keys does not hold; the keys of before stay',
        );
        return;
      }
      logger.info({ path }, 'the file of master keys was read again');
      for (const listener of listeners) listener();
    },
  });
  let keys: LocalKeys;
  try {
    keys = readKeys(watch.first);
  } catch (error) {
    watch.close();
    throw new OwnError(`${path} does not hold: ${error instanceof OwnError ? error.message : 'unknown'}`, {
      cause: error,
    });
  }
  return {
    list: () => keys.list(),
    wrap: (plaintext, words) => keys.wrap(plaintext, words),
    unwrap: (wrapped, words) => keys.unwrap(wrapped, words),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    check: () => watch.check(),
    close: () => watch.close(),
  };
}

/** On lines of their own or parted by commas; a line that begins with # is a remark. */
function readKeys(reading: FileReading): LocalKeys {
  if (reading.kind === 'unreadable') throw new OwnError(`it cannot be read (${reading.code})`);
  const lines = reading.text.split('\n').filter((line) => !line.trimStart().startsWith('#'));
  const keys = lines
    .join(',')
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  return createLocalKeys(keys);
}
