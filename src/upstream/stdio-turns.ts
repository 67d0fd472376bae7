// What commands say is worked off in slices, a few in each turn of the event loop and round about among
// all who have something, so that one that floods us holds up nobody: neither other commands nor calls.
import type { Clock } from '../shared/clock.ts';

/** Does one slice; true when there is more. */
export type Slice = () => boolean;

const SLICES_PER_TURN = 4;
/** So many full turns in a row are a long answer; more are a flood, which gets half of our time at most. */
const FULL_TURNS = 64;
const PAUSE_MS = 4;

export class Turns {
  readonly #clock: Clock;
  #line: Slice[] = [];
  #spent = 0;
  #fullTurns = 0;
  #isDue = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does the first slice at once when nobody is before it, the rest in later turns. */
  give(slice: Slice): void {
    const isRoom = this.#line.length === 0 && this.#spent < SLICES_PER_TURN;
    this.#spent += 1;
    if (!isRoom || slice()) this.#line.push(slice);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (this.#fullTurns < FULL_TURNS) setImmediate(() => this.#turn());
    else this.#clock.after(PAUSE_MS, () => this.#turn());
  }

  #turn(): void {
    this.#isDue = false;
    this.#fullTurns = this.#line.length === 0 ? 0 : this.#fullTurns + 1;
    const now = this.#line.splice(0, SLICES_PER_TURN);
    this.#spent = now.length;
    for (const slice of now) if (slice()) this.#line.push(slice);
    if (this.#line.length > 0) this.#schedule();
  }
}
