// One call's hearing on a stream that other calls share. An agent that reads slowly may not hold up
// the others, so the stream is never paused for it: what goes beyond a limit in the meantime is dropped.
import type { Hearing } from '../connection/connection.ts';

/** Messages of this many bytes may wait for a slow agent. */
const MAX_WAITING_BYTES = 1024 * 1024;

export class SharedEar {
  readonly #hearing: Hearing;
  /** Messages that were not told. */
  dropped = 0;
  #waitingBytes = 0;
  #isSlow = false;

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  message(raw: string): void {
    if (this.#waitingBytes + raw.length > MAX_WAITING_BYTES) {
      this.dropped++;
      return;
    }
    this.#waitingBytes += raw.length;
    this.#hearing.message(raw);
  }

  progress(): void {
    this.#hearing.progress();
  }

  flush(): void {
    if (this.#isSlow || this.#waitingBytes === 0) return;
    this.#waitingBytes = 0;
    const slow = this.#hearing.flush();
    if (slow === undefined) return;
    this.#isSlow = true;
    const resume = (): void => {
      this.#isSlow = false;
      this.flush();
    };
    slow.then(resume, resume);
  }

  /** The answer is next: what was gathered goes out before it, slow or not. */
  finish(): void {
    if (this.#waitingBytes > 0) void this.#hearing.flush();
    this.#waitingBytes = 0;
  }
}
