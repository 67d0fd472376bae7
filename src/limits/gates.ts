// Lets so many pieces of work of each key run at a time; the rest wait in the order they came, in a line
// that has an end.
import { ProxyError } from '../shared/errors.ts';

export interface GateOptions {
  /** Of one key at a time. */
  readonly places: number;
  /** Of one key; beyond it work is refused at once. */
  readonly longestLine: number;
}

interface Line {
  inside: number;
  readonly waiting: Set<() => void>;
}

export class Gates {
  readonly #options: GateOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Keys with work that runs or waits. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * Runs the work when there is a place for it. `signal` ends the wait, not the work. Rejects with what the
   * work rejects with, `overloaded` when too many wait, or the signal's reason.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const line = this.#lines.get(key) ?? { inside: 0, waiting: new Set() };
    this.#lines.set(key, line);
    if (line.inside < this.#options.places) line.inside++;
    else await this.#wait(line, signal);
    try {
      return await work();
    } finally {
      this.#leave(key, line);
    }
  }

  #wait({ waiting }: Line, signal: AbortSignal | undefined): Promise<void> {
    if (waiting.size >= this.#options.longestLine) return Promise.reject(tooMany());
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', left);
        resolve();
      };
      const left = (): void => {
        waiting.delete(enter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', left, { once: true });
      waiting.add(enter);
    });
  }

  /** The place goes to whoever waits longest. */
  #leave(key: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
    } else if (--line.inside === 0) this.#lines.delete(key);
  }
}

const tooMany = (): ProxyError =>
  new ProxyError('overloaded', 'Too much of this kind waits already; try again shortly.', {
    data: { retryAfterMs: 1_000 },
  });
