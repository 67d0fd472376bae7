// Gives work that listens to a signal its bound.
import type { Clock } from './clock.ts';

/**
 * Resolves or rejects as `work` does: a work that does not heed its signal is not cut off.
 * @param ms after which the signal is aborted
 * @param tooLate makes the reason of that abort
 */
export async function withinTime<T>(
  clock: Clock,
  ms: number,
  tooLate: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(tooLate()));
  try {
    return await work(late.signal);
  } finally {
    cancel();
  }
}
