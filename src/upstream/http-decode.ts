// Undoes a content coding that the server used although none was asked for (RFC 9110 §8.4), chunk by
// chunk and counted, so that a small body cannot become a large one unnoticed.
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ProxyError } from '../shared/errors.ts';

export interface Decoder {
  /** False when it has enough for now; `onReady` is called once when it wants more. */
  write(chunk: Buffer, onReady: () => void): boolean;
  end(): void;
  /** Nobody waits for the rest. */
  close(): void;
}

const CODINGS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

/**
 * `onChunk` may throw to refuse more; `onEnd` gets that, or undefined at a clean end. A promise of it holds the rest
 * back, packed, until it resolves: what is kept in between is one chunk of each kind, however much it would become.
 */
export function openDecoder(
  coding: string,
  onChunk: (chunk: Buffer) => Promise<void> | undefined,
  onEnd: (error: Error | undefined) => void,
): Decoder {
  if (!Object.hasOwn(CODINGS, coding))
    throw new ProxyError(
      'upstream_protocol',
      'The server answered in a content coding that was not asked for and is not known.',
    );
  const stream = CODINGS[coding as keyof typeof CODINGS]();
  stream.on('data', (chunk: Buffer) => {
    try {
      const slow = onChunk(chunk);
      if (slow === undefined) return;
      stream.pause();
      void slow.then(() => stream.resume());
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
  let onRoom: (() => void) | undefined;
  const tellRoom = (): void => {
    const ready = onRoom;
    onRoom = undefined;
    ready?.();
  };
  stream.on('drain', tellRoom);
  // Whoever waited for room may send the rest to nobody, so that its socket gets free.
  stream.once('close', tellRoom);
  stream.once('end', () => onEnd(undefined));
  stream.once('error', (error) => {
    onEnd(
      error instanceof ProxyError
        ? error
        : new ProxyError('upstream_protocol', "The server's answer could not be decompressed.", { cause: error }),
    );
  });
  return {
    write(chunk, onReady) {
      if (stream.destroyed || stream.write(chunk)) return true;
      onRoom = onReady;
      return false;
    },
    end: () => void stream.end(),
    close: () => void stream.destroy(),
  };
}
