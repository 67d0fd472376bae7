// One HTTP request to an upstream and its answer, at undici's lowest interface: no stream object,
// no promise per chunk. Bodies are read whole within a limit; event streams are handed on event by event.
import type { Dispatcher } from 'undici';
import type { Cancel, Clock } from '../shared/clock.ts';
import { EgressDeniedError, NotRunError, ProxyError } from '../shared/errors.ts';
import { BytePile, bufferFor } from '../wire/byte-pile.ts';
import { SseReader } from '../wire/sse.ts';
import type { Echo } from './echo.ts';
import type { EgressPolicy } from './egress/policy.ts';
import type { PoolRequest } from './egress/socket-pool.ts';
import { type Decoder, openDecoder } from './http-decode.ts';
import { type Head, readHead, withoutEcho } from './http-head.ts';
import { Pace, PIECE_BYTES } from './pace.ts';

/** A whole answer, decoded, may have this many bytes; see docs/reference/limits.md. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** What a server says about itself when it is connected to. */
export const MAX_GREETING_BYTES = 256 * 1024;
/** Error pages are read this far; they only ever become a status and a word. */
const MAX_ERROR_BYTES = 64 * 1024;

/** A stream may stay open this long behind the answer it brought; then its socket is taken away. */
const LINGER_MS = 2_000;

export interface Door {
  readonly dispatcher: Dispatcher;
  /** For streams that stay open, so that they take no socket from calls; left out, they share. */
  readonly streams?: Dispatcher;
  /** Where redirects may lead. */
  readonly policy: EgressPolicy;
  /** For what a redirect sends to another origin: a door with `policy.withoutExceptions`, and sockets of its own. */
  readonly elsewhere: Dispatcher;
  readonly clock: Clock;
}

export interface HttpRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[];
  readonly body?: string;
  /** What these headers hold and the answer must not: taken out before anybody sees the answer. */
  readonly echo?: Echo;
  /** False where no header can be a key of anybody's: then a redirect may leave the origin. */
  readonly carriesCredential?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Of the whole answer, or of one event; `MAX_BODY_BYTES` unless it is less. */
  readonly maxBytes?: number;
  /** Called for each event of an event stream, latin1 text; true says: that was the answer, the rest may go. */
  readonly onEvent?: (data: string) => boolean;
  /** After each chunk of events; a promise pauses reading until it resolves. */
  readonly onBatch?: () => Promise<void> | undefined;
  /** Once, when the head of an event stream was read. */
  readonly onStream?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** Media type without parameters, lower case; '' when there was none. */
  readonly contentType: string;
  readonly sessionId: string | undefined;
  readonly challenge: string | undefined;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: Buffer;
  readonly reader: SseReader | undefined;
}

type WayOut = Pick<Door, 'dispatcher' | 'clock'>;

/** Follows no redirect. Errors: NotRunError when no byte left; EgressDeniedError, with nothing sent; `upstream_unavailable` or `upstream_protocol`; the signal's reason. */
export function exchangeOnce(door: WayOut, request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => beginExchange(door, request, resolve, reject));
}

/** The same, for those who make a promise of it themselves: one of the two is called, once, and may be at once. */
export function beginExchange(
  { dispatcher, clock }: WayOut,
  request: HttpRequest,
  done: (answer: HttpAnswer) => void,
  failed: (error: Error) => void,
): void {
  const { signal } = request;
  if (signal?.aborted) {
    failed(signal.reason as Error);
    return;
  }
  const handler = new Exchange(clock, request, done, failed);
  signal?.addEventListener('abort', handler.abort, { once: true });
  try {
    const { origin, path, method, body = null } = request;
    const asked: PoolRequest = { origin, path, method, headers: request.headers as string[], body, signal };
    dispatcher.dispatch(asked, handler);
  } catch (error) {
    handler.refuse(error as Error);
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #clock: Clock;
  readonly #request: HttpRequest;
  readonly #done: (answer: HttpAnswer) => void;
  readonly #failed: (error: Error) => void;
  #stop: ((error?: Error) => void) | undefined;
  #resume: (() => void) | undefined;
  #status = 0;
  #head: Head | undefined;
  #reader: SseReader | undefined;
  #decoder: Decoder | undefined;
  readonly #pile = new BytePile();
  /** Takes a large body of known length as it comes, so that nothing has to be joined when it is cold. */
  #whole: Buffer | undefined;
  #bytes = 0;
  /** As they came, before they were decoded. */
  #packedBytes = 0;
  #limit: number;
  #pace: Pace | undefined;
  #settled = false;
  #linger: Cancel | undefined;

  constructor(clock: Clock, request: HttpRequest, done: (answer: HttpAnswer) => void, failed: (error: Error) => void) {
    this.#clock = clock;
    this.#request = request;
    this.#limit = request.maxBytes ?? MAX_BODY_BYTES;
    this.#done = done;
    this.#failed = failed;
  }

  readonly abort = (): void => {
    const reason = this.#request.signal?.reason as Error;
    this.#fail(reason);
    this.#stop?.(reason);
  };

  /** Before anything was sent. */
  refuse(error: Error): void {
    this.#fail(error);
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#stop = abort;
    // Its asker left while it waited for a socket: nothing must go out any more.
    if (this.#settled) abort(new Error('no longer wanted'));
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    this.#resume = resume;
    const head = readHead(raw);
    const isStream = head.contentType === 'text/event-stream' && status < 300 && this.#request.onEvent !== undefined;
    this.#status = status;
    this.#head = withoutEcho(head, this.#request.echo);
    if (isStream) this.#reader = new SseReader(this.#limit, (event) => this.#event(event.data, event.type));
    if (status >= 300) this.#limit = MAX_ERROR_BYTES;
    if (isStream) this.#pace = new Pace(this.#clock);
    if (head.encoding !== '' && head.encoding !== 'identity') {
      this.#decoder = openDecoder(
        head.encoding,
        (chunk) => this.#take(chunk),
        (error) => this.#end(error),
      );
    } else if (!isStream && status < 300) this.#whole = bufferFor(head.length, this.#limit);
    if (isStream) this.#request.onStream?.();
    return true;
  }

  onData(chunk: Buffer): boolean {
    return this.#decoder === undefined ? this.#plain(chunk) : this.#packed(chunk, this.#decoder);
  }

  /** False says: no more until `resume`. */
  #plain(chunk: Buffer): boolean {
    const slow = this.#take(chunk);
    void slow?.then(() => this.#resume?.());
    return slow === undefined;
  }

  #packed(chunk: Buffer, decoder: Decoder): boolean {
    this.#packedBytes += chunk.length;
    // Packed bytes may unpack to nothing for ever.
    if (this.#packedBytes > MAX_BODY_BYTES) throw this.#tooLarge();
    return decoder.write(chunk, () => this.#resume?.());
  }

  onComplete(): void {
    this.#linger?.();
    if (this.#decoder !== undefined) this.#decoder.end();
    else this.#end(undefined);
  }

  onError(error: Error): void {
    this.#linger?.();
    if (error instanceof EgressDeniedError) this.#fail(error);
    else if (this.#stop === undefined) this.#fail(new NotRunError('The server cannot be reached.', { cause: error }));
    else
      this.#fail(
        error instanceof ProxyError
          ? error
          : new ProxyError('upstream_unavailable', 'The connection to the server broke; the request may have run.', {
              cause: error,
            }),
      );
  }

  /** A promise says: no more until it resolves. */
  #take(chunk: Buffer): Promise<void> | undefined {
    if (this.#reader !== undefined) return this.#read(this.#reader, chunk);
    this.#collect(chunk);
    return undefined;
  }

  /** In pieces, with a rest behind each where one is due: what came in one go must not be read in one go. */
  #read(reader: SseReader, chunk: Buffer): Promise<void> | undefined {
    for (let at = 0; at < chunk.length && !this.#settled; at += PIECE_BYTES) {
      const before = reader.blocks;
      reader.push(chunk.length > PIECE_BYTES ? chunk.subarray(at, at + PIECE_BYTES) : chunk);
      // A piece of an event is no event yet, and there may be very many pieces.
      if (reader.blocks === before) continue;
      const drained = this.#request.onBatch?.();
      const rested = this.#pace?.rest(reader.blocks);
      if (drained === undefined && rested === undefined) continue;
      const left = chunk.subarray(at + PIECE_BYTES);
      return Promise.all([drained, rested])
        .then(() => this.#read(reader, left))
        .catch((error: unknown) => this.#end(error as Error));
    }
    return undefined;
  }

  #collect(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#whole !== undefined) chunk.copy(this.#whole, this.#bytes - chunk.length);
    else if (this.#bytes <= this.#limit) this.#pile.add(chunk);
    else if (this.#limit === MAX_ERROR_BYTES) {
      this.#end(undefined);
      this.#stop?.();
    } else throw this.#tooLarge();
  }

  #tooLarge(): ProxyError {
    return new ProxyError('upstream_protocol', `The server's answer is larger than ${this.#limit} bytes.`);
  }

  #event(data: string, type: string | undefined): void {
    if (this.#settled || (type !== undefined && type !== 'message')) return;
    const { echo, onEvent } = this.#request;
    if (onEvent?.(echo === undefined ? data : echo.event(data)) !== true) return;
    this.#end(undefined);
    this.#linger = this.#clock.after(LINGER_MS, () => this.#stop?.());
  }

  #end(error: Error | undefined): void {
    if (error !== undefined) {
      this.#fail(error);
      this.#stop?.(error);
      return;
    }
    if (this.#settled || this.#head === undefined) return;
    try {
      const { contentType, sessionId, challenge, retryAfter, location } = this.#head;
      const [status, reader, body] = [this.#status, this.#reader, this.#body()];
      this.#settle();
      this.#done({ status, contentType, sessionId, challenge, retryAfter, location, body, reader });
    } catch (cause) {
      this.#fail(cause as Error);
    }
  }

  #body(): Buffer {
    const body = this.#whole === undefined ? this.#pile.take() : this.#whole.subarray(0, this.#bytes);
    return this.#request.echo?.message(body) ?? body;
  }

  #fail(error: Error): void {
    if (this.#settled) return;
    this.#settle();
    this.#failed(error);
  }

  #settle(): void {
    this.#settled = true;
    // What comes behind the answer is not even unpacked.
    this.#decoder?.close();
    this.#request.signal?.removeEventListener('abort', this.abort);
  }
}
