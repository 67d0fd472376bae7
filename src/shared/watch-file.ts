// Notices when a file changes and hands on each new reading, once.
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from './clock.ts';

export type FileReading =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly code: string };

export interface FileWatch {
  /** What the file said when the watch began. */
  readonly first: FileReading;
  /** Looks now instead of at the next second; gives when whoever listens has been told. */
  check(): Promise<void>;
  close(): void;
}

interface WatchOptions {
  readonly path: string;
  /** Must not throw. */
  readonly onChange: (reading: FileReading) => void;
  readonly clock: Clock;
}

/** Polling, as editors and mounted volumes replace files in ways that file events miss. */
export async function watchFile({ path, onChange, clock }: WatchOptions): Promise<FileWatch> {
  let mark = await fingerprint(path);
  const first = await read(path);
  let last = first;
  let checking: Promise<void> | undefined;
  let isClosed = false;

  const look = async (): Promise<void> => {
    // The mark is taken before the reading: a change in between is seen again at the next look.
    const newMark = await fingerprint(path);
    if (newMark === mark) return;
    const reading = await read(path);
    mark = newMark;
    if (isClosed || isSame(reading, last)) return;
    last = reading;
    onChange(reading);
  };
  const check = (): Promise<void> => {
    checking ??= look().finally(() => {
      checking = undefined;
    });
    return checking;
  };
  const cancel = clock.every(1000, () => void check());
  const close = (): void => {
    isClosed = true;
    cancel();
  };
  return { first, check, close };
}

async function read(path: string): Promise<FileReading> {
  try {
    return { kind: 'text', text: await readFile(path, 'utf8') };
  } catch (error) {
    return { kind: 'unreadable', code: codeOf(error) };
  }
}

function isSame(a: FileReading, b: FileReading): boolean {
  if (a.kind === 'text') return b.kind === 'text' && a.text === b.text;
  return b.kind === 'unreadable' && a.code === b.code;
}

async function fingerprint(path: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(path, { bigint: true });
    return [mtimeNs, size, ino].join(' ');
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
