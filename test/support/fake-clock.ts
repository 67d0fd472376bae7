// A clock that moves only when the test says so; timers fire in the order of their due times.
import { type Cancel, type Clock, sleepOn } from '../../src/shared/clock.ts';

interface Timer {
  dueAt: number;
  readonly everyMs: number | undefined;
  readonly job: () => void;
}

export class FakeClock implements Clock {
  // Not 0, which lru-cache reads as "no age".
  #now = 1_700_000_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, job: () => void): Cancel {
    return this.#add({ dueAt: this.#now + ms, everyMs: undefined, job });
  }

  every(ms: number, job: () => void): Cancel {
    return this.#add({ dueAt: this.#now + ms, everyMs: ms, job });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** How many timers wait; 0 after everything that was started has been stopped. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves the time and runs what falls due, also timers that are started on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = next.dueAt;
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.dueAt += next.everyMs;
      next.job();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (first === undefined || timer.dueAt < first.dueAt)) first = timer;
    }
    return first;
  }

  #add(timer: Timer): Cancel {
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }
}
