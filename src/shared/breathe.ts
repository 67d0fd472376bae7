// Long work in pieces, so that everybody else's turn comes in between.

/** After this many bytes of parsing it is somebody else's turn: less than half a millisecond, and two of the worst there is. */
const PIECE_BYTES = 16 * 1024;
/** What each thing costs beside its bytes. */
const COST_OF_EACH = 200;

/** Behind each piece: somebody else's call takes about so many, and should not meet us in each of them. */
const TURNS = 4;
const MOST_TURNS = 32;

/**
 * Counts work by its bytes, one call for each thing; gives a promise to wait for when others are due, and nothing when they
 * are not.
 */
export function startBreathing(): (bytes: number) => Promise<void> | undefined {
  let since = 0;
  return (bytes) => {
    since += bytes + COST_OF_EACH;
    if (since < PIECE_BYTES) return undefined;
    const turns = Math.min(TURNS * Math.floor(since / PIECE_BYTES), MOST_TURNS);
    since = 0;
    return nextTurns(turns);
  };
}

async function nextTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}

/** Resolves when whatever else was waiting for the event loop has had it. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
