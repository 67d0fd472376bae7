// Reads a request's body whole, within limits of bytes, of depth and of width; nothing is kept of one that breaks them.
import type { IncomingMessage } from 'node:http';
import { BytePile } from '../wire/byte-pile.ts';
import { MessageBounds } from './message-bounds.ts';

export type Body =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'too_large' }
  /** Not to be parsed, and why. */
  | { readonly kind: 'out_of_bounds'; readonly problem: string }
  | { readonly kind: 'broken' };

/** Arguments of a tool call may have this many bytes; see docs/reference/limits.md. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** A body that is no longer cannot be deep or wide enough to matter, once it is closed. */
const SHORT_BYTES = 256;

/** Calls back once; a body that declares too much is not read at all. */
export function readBody(request: IncomingMessage, done: (body: Body) => void): void {
  if (Number(request.headers['content-length'] ?? 0) > MAX_REQUEST_BYTES) {
    done({ kind: 'too_large' });
    return;
  }
  const pile = new BytePile();
  let bounds: MessageBounds | undefined;
  let bytes = 0;
  let isDone = false;
  const finish = (body: Body): void => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) {
      pile.drop();
      return finish({ kind: 'too_large' });
    }
    if (bounds === undefined && bytes > SHORT_BYTES) bounds = boundsOf(pile);
    bounds?.see(chunk);
    if (bounds?.problem === undefined) pile.add(chunk);
    // The rest is let by, so that the sender is still there to read why.
    else pile.drop();
  });
  request.on('end', () => {
    const problem = bounds?.problem;
    finish(
      problem === undefined ? { kind: 'read', text: pile.take().toString('utf8') } : { kind: 'out_of_bounds', problem },
    );
  });
  request.on('error', () => finish({ kind: 'broken' }));
  request.on('close', () => finish({ kind: 'broken' }));
}

function boundsOf(seen: BytePile): MessageBounds {
  const bounds = new MessageBounds();
  if (seen.isEmpty) return bounds;
  const bytes = seen.take();
  bounds.see(bytes);
  seen.add(bytes);
  return bounds;
}
