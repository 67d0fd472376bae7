// Long work in pieces, so that everybody else's turn comes in between.

/** After this many bytes of parsing it is somebody else's turn: about two milliseconds of the worst there is. */
const PIECE_BYTES = 64 * 1024;

/** Counts work by its bytes; gives a promise to wait for when a turn is due, and nothing when there is none. */
export function startBreathing(): (bytes: number) => Promise<void> | undefined {
  let since = 0;
  return (bytes) => {
    since += bytes;
    if (since < PIECE_BYTES) return undefined;
    since = 0;
    return nextTurn();
  };
}

/** Resolves when whatever else was waiting for the event loop has had it. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
