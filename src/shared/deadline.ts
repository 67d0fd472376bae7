// A signal that fires when its parent does, or when nothing restarted it for a while. Cheaper than
// AbortSignal.any with AbortSignal.timeout, which cost more than the rest of a small call.
import type { Cancel, Clock } from './clock.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Starts the waiting time anew; never beyond the ceiling. */
  restart(): void;
  /** Must be called when the work is done: frees the timer and the parent's listener. */
  end(): void;
}

/**
 * @param ms waiting time without a restart
 * @param ceilingMs bound on all of it, restarts included
 * @param expired makes the reason the signal fires with
 */
export function startDeadline(clock: Clock, parent: AbortSignal, ms: number, ceilingMs: number, expired: () => Error): Deadline {
  const own = new AbortController();
  const startedAt = clock.now();
  const fire = (): void => own.abort(expired());
  const onParent = (): void => own.abort(parent.reason);
  let cancel: Cancel = clock.after(Math.min(ms, ceilingMs), fire);
  if (parent.aborted) onParent();
  else parent.addEventListener('abort', onParent, { once: true });
  return {
    signal: own.signal,
    restart() {
      cancel();
      const left = ceilingMs - (clock.now() - startedAt);
      cancel = clock.after(Math.max(0, Math.min(ms, left)), fire);
    },
    end() {
      cancel();
      parent.removeEventListener('abort', onParent);
    },
  };
}
