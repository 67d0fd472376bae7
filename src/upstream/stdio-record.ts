// The commands that run, on disk, so that the next start finds what even the watchdog could not end.
// A record is replaced as a whole: it is never half written under its own name.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, type Logger } from '../shared/logger.ts';
import { machineRun, readProcess } from './stdio-proc.ts';
import { type Watched, watchLine } from './stdio-watchdog.ts';

export const recordsIn = (dataDir: string): string => join(dataDir, 'commands');

/** The first line: whose record this is. Undefined where processes cannot be told apart later. */
export function ownLine(): string | undefined {
  const machine = machineRun();
  const own = readProcess(process.pid);
  return machine && own && `${machine.boot} ${machine.container} ${own.pid} ${own.startedAt}`;
}

export class CommandRecord {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #ownLine = ownLine();
  readonly #watched = new Map<number, Watched>();
  #holds = 0;
  #writing: Promise<void> | undefined;
  #isDue = false;
  #hasFailed = false;

  constructor(dataDir: string, run: string, logger: Logger) {
    this.#path = join(recordsIn(dataDir), run);
    this.#logger = logger;
  }

  /** Resolves when the record exists. Each needs one `letGo`; never rejects. */
  async hold(): Promise<void> {
    this.#holds += 1;
    if (this.#holds === 1 || this.#writing !== undefined) await this.#write();
  }

  /** Without a command there is no record. */
  async letGo(): Promise<void> {
    this.#holds -= 1;
    if (this.#holds === 0) await this.#write();
  }

  watch(one: Watched): void {
    this.#watched.set(one.group, one);
    void this.#write();
  }

  forget(group: number): void {
    if (this.#watched.delete(group)) void this.#write();
  }

  /** One write at a time; those who come meanwhile share the next. */
  #write(): Promise<void> {
    this.#isDue = true;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      await this.#writeOnce().catch((error: unknown) => this.#failed(error));
    }
  }

  async #writeOnce(): Promise<void> {
    if (this.#ownLine === undefined) return;
    if (this.#holds === 0) {
      await rm(this.#path, { force: true });
      return;
    }
    const text = `${this.#ownLine}\n${[...this.#watched.values()].map(watchLine).join('')}`;
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    await writeFile(`${this.#path}.new`, text, { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }

  /** Commands run all the same: a data directory that is read-only is no reason to serve nobody. */
  #failed(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#logger.warn(
      { error: describeError(error) },
      'running commands cannot be recorded in the data directory; if this process and its watchdog are killed, they stay',
    );
  }
}
