// How many keys may be tried with one link on this node: a form must not become a machine for guessing keys.
import type { Clock } from '../shared/clock.ts';

const MAX_TRIES = 20;
/** As long as a ticket lives. */
const MEMORY_MS = 10 * 60_000;

export interface Tries {
  /** Counts one more; false when there were enough. Call it for links that exist only. */
  allow(ticketText: string): boolean;
}

export function createTries(clock: Clock): Tries {
  const counts = new Map<string, number>();
  return {
    allow(ticketText) {
      const before = counts.get(ticketText) ?? 0;
      if (before === 0) clock.after(MEMORY_MS, () => counts.delete(ticketText));
      counts.set(ticketText, before + 1);
      return before < MAX_TRIES;
    },
  };
}
