// All that came of one command, also what left its process group: found by the mark in its environment,
// by group and session, and by its parents. What drops the mark, leaves the session and loses its
// parent is found by nobody without the means of a container.
import type { Census } from './stdio-census.ts';
import { readProcess } from './stdio-proc.ts';

export class Family {
  readonly #mark: string;
  readonly #pid: number;
  readonly #census: Census;
  /** Pid and start of each: a number alone may be a stranger's by the time it is used. */
  readonly #known = new Map<number, number>();

  constructor(mark: string, pid: number, census: Census) {
    this.#mark = mark;
    this.#pid = pid;
    this.#census = census;
  }

  /** True where nobody can be found, so that none found means nothing. */
  get isBlind(): boolean {
    return this.#census.isBlind;
  }

  /** @param isOurNumber the command's pid, as a group or session, can be nobody else's yet */
  async find(isOurNumber: boolean): Promise<void> {
    const all = await this.#census.take();
    const members = new Set<number>();
    for (const { pid, mark, group, session, startedAt } of all) {
      const isByNumber = isOurNumber && (group === this.#pid || session === this.#pid);
      if (mark === this.#mark || isByNumber || this.#known.get(pid) === startedAt) members.add(pid);
    }
    for (let before = -1; before < members.size; ) {
      before = members.size;
      for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
    }
    for (const { pid, startedAt } of all) if (members.has(pid)) this.#known.set(pid, startedAt);
  }

  /** Signals those who are found and alive, or with 0 only counts them; gives how many. */
  signal(signal: NodeJS.Signals | 0): number {
    for (const [pid, startedAt] of this.#known) {
      const entry = readProcess(pid);
      if (entry?.startedAt !== startedAt) this.#known.delete(pid);
      // The group was told as a whole; many programs take a second polite signal for an impolite one.
      else if (signal !== 'SIGTERM' || entry.group !== this.#pid) tell(pid, signal);
    }
    return this.#known.size;
  }
}

function tell(pid: number, signal: NodeJS.Signals | 0): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended just now, or changed to a user whose processes we may not touch.
  }
}
