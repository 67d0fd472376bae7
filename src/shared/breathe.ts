// Long work in pieces, so that everybody else's turn comes in between.

/** After this many bytes of parsing it is somebody else's turn: less than half a millisecond, and two of the worst there is. */
const PIECE_BYTES = 16 * 1024;
/** What each thing costs beside its bytes. */
const COST_OF_EACH = 200;

/**
 * Counts work by its bytes, one call for each thing; gives a promise to wait for when a turn is due, and nothing when there
 * is none. Others get as many turns as there were pieces: a call of theirs takes several, and should not meet us in each.
 */
export function startBreathing(): (bytes: number) => Promise<void> | undefined {
  let since = 0;
  return (bytes) => {
    since += bytes + COST_OF_EACH;
    if (since < PIECE_BYTES) return undefined;
    const turns = Math.min(Math.floor(since / PIECE_BYTES), MOST_TURNS);
    since = 0;
    return nextTurns(turns);
  };
}

const MOST_TURNS = 8;

async function nextTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}

/** Resolves when whatever else was waiting for the event loop has had it. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
