// Notices when the operator's file changes and hands on each new reading, good or bad, once.
import type { Clock } from '../shared/clock.ts';
import { type FileReading, watchFile } from '../shared/watch-file.ts';
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

export async function watchOperatorFile({ path, parse, onChange, clock }: WatchOptions): Promise<OperatorFileWatch> {
  const watch = await watchFile({ path, clock, onChange: (reading) => onChange(toResult(reading, parse)) });
  return { first: toResult(watch.first, parse), check: () => watch.check(), close: () => watch.close() };
}

function toResult(reading: FileReading, parse: (text: string) => OperatorFileResult): OperatorFileResult {
  if (reading.kind === 'text') return parse(reading.text);
  return { ok: false, problems: [{ path: '$', message: `the file cannot be read (${reading.code})` }] };
}
