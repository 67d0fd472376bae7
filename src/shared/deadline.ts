// Bounds on a wait that work may extend while it shows progress. Cheaper than AbortSignal.any with
// AbortSignal.timeout, which cost more than the rest of a small call.
import type { Cancel, Clock } from './clock.ts';

export interface Timer {
  /** Starts the waiting time anew; never beyond the ceiling. */
  restart(): void;
  /** Must be called when the work is done. */
  end(): void;
}

/**
 * @param ms waiting time without a restart
 * @param ceilingMs bound on all of it, restarts included
 * @param onExpired called once, unless `end` came first
 */
export function startTimer(clock: Clock, ms: number, ceilingMs: number, onExpired: () => void): Timer {
  const endsAt = clock.now() + ceilingMs;
  let dueAt = clock.now() + Math.min(ms, ceilingMs);
  // A restart only moves the due time; the timer that runs finds out when it fires. Progress may come
  // a thousand times a second.
  const fire = (): void => {
    const left = dueAt - clock.now();
    if (left > 0) cancel = clock.after(left, fire);
    else onExpired();
  };
  let cancel: Cancel = clock.after(Math.min(ms, ceilingMs), fire);
  return {
    restart() {
      dueAt = Math.min(clock.now() + ms, endsAt);
    },
    end: () => cancel(),
  };
}

export interface Deadline extends Timer {
  readonly signal: AbortSignal;
}

/**
 * A signal of its own that fires when its parent does, or when the timer expires. `end` must be called:
 * it also takes the listener off the parent.
 * @param expired makes the reason the signal fires with
 */
export function startDeadline(
  clock: Clock,
  parent: AbortSignal,
  ms: number,
  ceilingMs: number,
  expired: () => Error,
): Deadline {
  const own = new AbortController();
  const onParent = (): void => own.abort(parent.reason);
  const timer = startTimer(clock, ms, ceilingMs, () => own.abort(expired()));
  if (parent.aborted) onParent();
  else parent.addEventListener('abort', onParent, { once: true });
  return {
    signal: own.signal,
    restart: () => timer.restart(),
    end() {
      timer.end();
      parent.removeEventListener('abort', onParent);
    },
  };
}
