// So many at a time; the rest wait in the order they came, each as long as its own signal lets it.
export class Places {
  readonly #limit: () => number;
  readonly #line: (() => void)[] = [];
  #inside = 0;

  /** @param limit asked each time: it may be raised or lowered meanwhile */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#inside === 0 && this.#line.length === 0;
  }

  get isFull(): boolean {
    return this.#inside >= this.#limit();
  }

  /** Each needs one `leave`. Rejects with the signal's reason; then there is nothing to leave. */
  enter(signal: AbortSignal): Promise<void> {
    if (!this.isFull) {
      this.#inside += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        const at = this.#line.indexOf(go);
        if (at >= 0) this.#line.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) giveUp();
      else {
        signal.addEventListener('abort', giveUp, { once: true });
        this.#line.push(go);
      }
    });
  }

  /** Its place goes to the next in line. */
  leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }
}
