// All processes of the machine, counted for several who ask at a time. A count that began before somebody
// asked is no answer: it may have missed what was started since.
import type { Clock } from '../shared/clock.ts';
import { MARK_NAME } from './stdio-env.ts';
import { listPids, type ProcessEntry, readProcess, startVariable } from './stdio-proc.ts';

export interface Counted extends ProcessEntry {
  /** Which command it came from, if from one of ours. */
  readonly mark: string | undefined;
}

/** Looked at in one go; the event loop turns between two of them. */
const AT_ONCE = 64;
/** A process stuck in the kernel may let its readers wait. */
const LOOK_MS = 500;

export class Census {
  readonly #clock: Clock;
  /** Whatever is older than we are was not started by us. */
  readonly #since: number;
  #running: Promise<readonly Counted[]> | undefined;
  #next: Promise<readonly Counted[]> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = readProcess(process.pid)?.startedAt ?? 0;
  }

  /** Nothing can be counted on this system. */
  get isBlind(): boolean {
    return this.#since === 0;
  }

  take(): Promise<readonly Counted[]> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<readonly Counted[]> {
    this.#next = undefined;
    this.#running = this.#count().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #count(): Promise<readonly Counted[]> {
    const pids = listPids();
    const counted: Counted[] = [];
    for (let from = 0; from < pids.length; from += AT_ONCE) {
      const entries = pids
        .slice(from, from + AT_ONCE)
        .filter((pid) => pid !== process.pid)
        .map(readProcess)
        .filter((entry): entry is ProcessEntry => entry !== undefined && entry.startedAt >= this.#since);
      counted.push(...(await Promise.all(entries.map((entry) => this.#marked(entry)))));
    }
    return counted;
  }

  async #marked(entry: ProcessEntry): Promise<Counted> {
    const late = this.#clock.sleep(LOOK_MS).then(() => undefined);
    return { ...entry, mark: await Promise.race([startVariable(entry.pid, MARK_NAME), late]) };
  }
}
