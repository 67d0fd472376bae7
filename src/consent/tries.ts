// How often something may be done with one link, or by one person, on this node: a form must not become a
// machine for guessing keys, nor for asking other sites.
import type { Clock } from '../shared/clock.ts';

/** As long as a ticket lives. */
const MEMORY_MS = 10 * 60_000;

export interface Tries {
  /** Counts one more; false when there were enough. Call it for links and people that exist only. */
  allow(key: string): boolean;
}

export function createTries(clock: Clock, max: number): Tries {
  const counts = new Map<string, number>();
  return {
    allow(key) {
      const before = counts.get(key) ?? 0;
      if (before === 0) clock.after(MEMORY_MS, () => counts.delete(key));
      counts.set(key, before + 1);
      return before < max;
    },
  };
}
