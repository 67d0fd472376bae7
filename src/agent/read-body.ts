// Reads a request's body whole, within a limit of bytes and of time.
import type { IncomingMessage } from 'node:http';
import { BytePile } from '../wire/byte-pile.ts';

export type Body =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'broken' };

/** Arguments of a tool call may have this many bytes; see docs/reference/limits.md. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** Calls back once; a body that declares too much is not read at all. */
export function readBody(request: IncomingMessage, done: (body: Body) => void): void {
  if (Number(request.headers['content-length'] ?? 0) > MAX_REQUEST_BYTES) {
    done({ kind: 'too_large' });
    return;
  }
  const pile = new BytePile();
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
    if (bytes > MAX_REQUEST_BYTES) finish({ kind: 'too_large' });
    else pile.add(chunk);
  });
  request.on('end', () => finish({ kind: 'read', text: pile.take().toString('utf8') }));
  request.on('error', () => finish({ kind: 'broken' }));
  request.on('close', () => finish({ kind: 'broken' }));
}
