// How fast an event stream is read. A server may say as much as it likes, but what it says costs our time, and that
// belongs to everybody: each event takes its share of time, and a stream that is ahead of it is left unread meanwhile.
import type { Clock } from '../shared/clock.ts';

/** 20,000 a second; a lively tool tells its progress a hundred times less often. */
const EVENTS_PER_MS = 20;
/** So far ahead is no haste: what was gathered on the way comes at once. */
const AHEAD_MS = 10;
/** Of what came in one go so much is read in one go: about half a millisecond of small events. */
export const PIECE_BYTES = 16 * 1024;
/** No stream rests longer; a piece of nothing but line ends comes nowhere near. */
const LONGEST_REST_MS = 1_000;

export class Pace {
  readonly #clock: Clock;
  /** Events that were read before their time, as of then. */
  #ahead = 0;
  #at = 0;
  #before = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long to wait before more is read; undefined for not at all. `events`: read so far, all together. */
  rest(events: number): Promise<void> | undefined {
    const now = this.#clock.now();
    // A clock that was set back makes nobody wait for it.
    const passedMs = Math.max(0, now - this.#at);
    const ahead = Math.max(0, this.#ahead - passedMs * EVENTS_PER_MS) + events - this.#before;
    this.#ahead = Math.min(ahead, LONGEST_REST_MS * EVENTS_PER_MS);
    this.#at = now;
    this.#before = events;
    if (ahead <= AHEAD_MS * EVENTS_PER_MS) return undefined;
    return new Promise((resolve) => {
      this.#clock.after(Math.ceil(this.#ahead / EVENTS_PER_MS), resolve);
    });
  }
}
