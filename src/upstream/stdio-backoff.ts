// A command that fails as soon as it is started is not started again and again: after its second failure
// in a row there are pauses, each twice as long, in which calls are told so at once.
import type { Clock } from '../shared/clock.ts';
import { NotRunError } from '../shared/errors.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Failures this far apart are not in a row. */
const FORGET_MS = 5 * 60_000;
const MAX_REMEMBERED = 1_000;

interface Failing {
  readonly times: number;
  readonly at: number;
  readonly until: number;
  /** A sentence that may be shown. */
  readonly why: string;
}

export class StartBackoff {
  readonly #clock: Clock;
  readonly #failing = new Map<string, Failing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws NotRunError while it has to wait. */
  check(key: string): void {
    const failing = this.#failing.get(key);
    const waitMs = (failing?.until ?? 0) - this.#clock.now();
    if (failing === undefined || waitMs <= 0) return;
    throw new NotRunError(`${failing.why} It is started again in ${Math.ceil(waitMs / 1_000)} s at the earliest.`, {
      waitMs,
      mayRetryNow: false,
    });
  }

  failed(key: string, why: string): void {
    const now = this.#clock.now();
    const before = this.#failing.get(key);
    const times = before === undefined || now - before.at > FORGET_MS ? 1 : before.times + 1;
    const pauseMs = times === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(times - 2, 20), LONGEST_PAUSE_MS);
    this.#failing.delete(key);
    this.#failing.set(key, { times, at: now, until: now + pauseMs, why });
    if (this.#failing.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#failing.keys();
    if (oldest !== undefined) this.#failing.delete(oldest);
  }

  worked(key: string): void {
    this.#failing.delete(key);
  }
}
