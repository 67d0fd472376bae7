// How fast an event stream is read. A server may say as much as it likes, but what it says costs our time, and that
// belongs to everybody: beyond so many events in a while its socket is left unread until the while is over.
import type { Clock } from '../shared/clock.ts';

/** 20,000 a second; a lively tool tells its progress a hundred times less often. */
const MAX_EVENTS = 2_000;
const WHILE_MS = 100;

export class Pace {
  readonly #clock: Clock;
  #endsAt = 0;
  /** Events that had been read when the while began. */
  #before = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long to wait before more is read; undefined for not at all. `events`: read so far, all together. */
  rest(events: number): Promise<void> | undefined {
    const now = this.#clock.now();
    if (now >= this.#endsAt) {
      this.#endsAt = now + WHILE_MS;
      // What came in one piece with the first ones of this while counts for it.
      if (events - this.#before <= MAX_EVENTS) {
        this.#before = events;
        return undefined;
      }
    } else if (events - this.#before <= MAX_EVENTS) return undefined;
    this.#before = events;
    return new Promise((resolve) => {
      this.#clock.after(this.#endsAt - now, resolve);
    });
  }
}
