// Notices when the operator's file changes and hands on each new reading, good or bad, once.
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../shared/clock.ts';
import type { OperatorFileResult } from './operator-file.ts';

export interface OperatorFileWatch {
  /** What the file said when the watch began. */
  readonly first: OperatorFileResult;
  /** Looks now instead of at the next second; gives when whoever listens has been told. */
  check(): Promise<void>;
  close(): void;
}

interface WatchOptions {
  readonly path: string;
  readonly parse: (text: string) => OperatorFileResult;
  /** A bad reading means: keep what you have, and report. Must not throw. */
  readonly onChange: (result: OperatorFileResult) => void;
  readonly clock: Clock;
}

/** Polling, as editors and mounted volumes replace files in ways that file events miss. */
export async function watchOperatorFile({ path, parse, onChange, clock }: WatchOptions): Promise<OperatorFileWatch> {
  let mark = await fingerprint(path);
  let source = await read(path);
  let checking: Promise<void> | undefined;
  let isClosed = false;

  const look = async (): Promise<void> => {
    // The mark is taken before the reading: a change in between is seen again at the next look.
    const newMark = await fingerprint(path);
    if (newMark === mark) return;
    const newSource = await read(path);
    mark = newMark;
    if (isClosed || isSame(newSource, source)) return;
    source = newSource;
    onChange(toResult(newSource, parse));
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
  return { first: toResult(source, parse), check, close };
}

type Source = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'unreadable'; readonly code: string };

async function read(path: string): Promise<Source> {
  try {
    return { kind: 'text', text: await readFile(path, 'utf8') };
  } catch (error) {
    return { kind: 'unreadable', code: codeOf(error) };
  }
}

function isSame(a: Source, b: Source): boolean {
  if (a.kind === 'text') return b.kind === 'text' && a.text === b.text;
  return b.kind === 'unreadable' && a.code === b.code;
}

function toResult(source: Source, parse: (text: string) => OperatorFileResult): OperatorFileResult {
  if (source.kind === 'text') return parse(source.text);
  return { ok: false, problems: [{ path: '$', message: `the file cannot be read (${source.code})` }] };
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
