// Callers with one key share the work, not its fate: a caller who leaves only leaves.

export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * Joins the work under `key`, or starts it. The work must carry its own deadline; `signal` ends
   * only this caller's wait, rejecting with the signal's reason.
   */
  run(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    let shared = this.#running.get(key);
    if (shared === undefined) {
      const mine = work().finally(() => {
        if (this.#running.get(key) === mine) this.#running.delete(key);
      });
      // Everyone may have left by the time it fails; that is no unhandled rejection.
      mine.catch(() => undefined);
      this.#running.set(key, mine);
      shared = mine;
    }
    return signal === undefined ? shared : waitFor(shared, signal);
  }

  has(key: string): boolean {
    return this.#running.has(key);
  }
}

/** Waits for `work` until `signal` fires; the work itself goes on. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
