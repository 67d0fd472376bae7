// What a socket has to be before undici gets it: read no faster than what came is looked at, and ended in a way that a
// parser which was told to wait survives. undici 7 asserts in the socket's own events that its parser does not wait, where
// nobody can catch it; a server that hangs up at the right moment would end the process (nodejs/undici 5360). See
// docs/adr/0023-sockets-before-undici.md.
import type { Socket } from 'node:net';

/** So much may lie unread; then nothing more is taken from the system. */
export const READ_AHEAD_BYTES = 64 * 1024;

interface Parser {
  paused: boolean;
  resume(): void;
}

/** What Node keeps on a socket. */
interface Inner {
  _handle?: { readonly reading?: boolean } | null;
  _read(size: number): void;
}

/** Gives the socket back; to be called before anybody else listens to it. */
export function readAhead<S extends Socket>(socket: S): S {
  socket.on('end', () => {
    // All there was has been read, so there is nothing left that it could wait with; who does not wait, does nothing.
    parserOn(socket)?.resume();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // Of a reset undici hopes that the answer was whole, and asks the parser.
    if (error.code === 'ECONNRESET' && parserOn(socket)?.paused === true) error.code = 'RESET';
  });
  socket.on('close', () => {
    const parser = parserOn(socket);
    if (parser !== undefined) parser.paused = false;
  });
  pace(socket);
  return socket;
}

/** Undici's, which it keeps under a symbol of its own; undefined until it has the socket, and when it is done with it. */
function parserOn(socket: Socket): Parser | undefined {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  return symbol === undefined ? undefined : ((socket as unknown as Record<symbol, Parser | null>)[symbol] ?? undefined);
}

/**
 * So many full buffers, half a megabyte, are read in one go; the system would give two megabytes. Fewer would be felt more:
 * whoever else waits meets each stop, however short.
 */
const READS_A_TURN = 8;

/** Behind so many full reads everybody else has a turn; and what is left unread is not read further. */
function pace(socket: Socket): void {
  const inner = socket as unknown as Inner;
  const [askForMore, take] = [inner._read.bind(socket), socket.read.bind(socket)];
  let held: number | undefined;
  let reads = 0;
  const look = (): void => {
    if (held === undefined || socket.destroyed || socket.readableLength > READ_AHEAD_BYTES) return;
    const size = held;
    held = undefined;
    askForMore(size);
  };
  const turn = (): void => {
    reads = 0;
    look();
  };
  inner._read = (size) => {
    // Small answers never fill it: the system goes on by itself, and this says nothing.
    if (inner._handle?.reading === true) return askForMore(size);
    if (reads === 0) setImmediate(turn);
    reads++;
    if (reads < READS_A_TURN && socket.readableLength <= READ_AHEAD_BYTES) askForMore(size);
    else held = size;
  };
  socket.read = (size?: number) => {
    const taken: unknown = take(size);
    // What the parser does not want now it puts back at once.
    if (held !== undefined) setImmediate(look);
    return taken;
  };
}
