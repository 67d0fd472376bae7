// The only place that reads the time or starts a timer, so that tests can own both.

/** Stops a timer; calling it twice is harmless. */
export type Cancel = () => void;

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Runs `job` once after `ms`. Does not keep the process alive. */
  after(ms: number, job: () => void): Cancel;
  /** Runs `job` each `ms`. Does not keep the process alive. */
  every(ms: number, job: () => void): Cancel;
  /** Resolves after `ms`, or rejects with the signal's reason when it fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, job) {
    const timer = setTimeout(job, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  every(ms, job) {
    const timer = setInterval(job, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

export { sleepOn };
