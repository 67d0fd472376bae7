// What goes out over the old transport: one POST for each message. Only the head of its answer means anything, and a
// server that leaves it open holds its socket no longer than somebody waits for the message.
import type { Dispatcher } from 'undici';
import type { Cancel, Clock } from '../shared/clock.ts';
import { EgressDeniedError, NotRunError, ProxyError } from '../shared/errors.ts';
import type { Echo } from './echo.ts';
import type { EgressPolicy } from './egress/policy.ts';
import { nextHop } from './egress/redirects.ts';
import { replyOf } from './http-errors.ts';
import { type Head, readHead, withoutEcho } from './http-head.ts';

export interface PostDoor {
  readonly dispatcher: Dispatcher;
  readonly policy: EgressPolicy;
  readonly clock: Clock;
  readonly echo: Echo;
}

export interface Post {
  readonly url: string;
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Ends it at any moment, also the reading of what follows the head. */
  readonly signal: AbortSignal;
}

interface Taken extends Head {
  readonly status: number;
}

/** What follows the head of an answer to a POST gets this long to end, so that the socket can be used again. */
const LINGER_MS = 2_000;
/** More than this behind the head is not read for the sake of a socket. */
const MAX_REST_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Resolves when the server has taken the message. Errors: NotRunError when no byte left; EgressDeniedError; what the
 * status means; `upstream_unavailable` where the message may have arrived; the signal's reason.
 */
export async function post(door: PostDoor, first: Post): Promise<void> {
  let request = first;
  for (let followed = 0; ; followed++) {
    const head = await postOnce(door, request);
    // Every request here may carry a key, so none leaves the origin.
    const hop = { url: request.url, method: 'POST', hasBody: true, carriesCredential: true };
    const next = nextHop(hop, head, followed, door.policy);
    if (next === undefined) {
      if (head.status >= 300)
        replyOf(
          { ...withoutEcho(head, door.echo), status: head.status, body: NOTHING, reader: undefined },
          door.clock.now(),
          true,
        );
      return;
    }
    request = { ...request, url: next.url };
  }
}

function postOnce({ dispatcher, clock }: PostDoor, { url, headers, body, signal }: Post): Promise<Taken> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const { origin, pathname, search } = new URL(url);
    const posting = new Posting(clock, signal, resolve, reject);
    try {
      dispatcher.dispatch(
        { origin, path: pathname + search, method: 'POST', headers: headers as string[], body },
        posting,
      );
    } catch (error) {
      posting.onError(error as Error);
    }
  });
}

class Posting implements Dispatcher.DispatchHandler {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #resolve: (taken: Taken) => void;
  readonly #reject: (error: Error) => void;
  #stop: ((error?: Error) => void) | undefined;
  #linger: Cancel | undefined;
  #restBytes = 0;

  constructor(clock: Clock, signal: AbortSignal, resolve: (taken: Taken) => void, reject: (error: Error) => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  readonly #abort = (): void => {
    const reason = this.#signal.reason as Error;
    this.#reject(reason);
    this.#stop?.(reason);
  };

  onConnect(abort: (error?: Error) => void): void {
    this.#stop = abort;
    // Its asker left while it waited for a socket: nothing must go out any more.
    if (this.#signal.aborted) abort(this.#signal.reason as Error);
  }

  onHeaders(status: number, raw: Buffer[]): boolean {
    if (status < 200) return true;
    this.#linger = this.#clock.after(LINGER_MS, () => this.#stop?.());
    this.#resolve({ status, ...readHead(raw) });
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#restBytes += chunk.length;
    if (this.#restBytes > MAX_REST_BYTES) this.#stop?.();
    return true;
  }

  onComplete(): void {
    this.#over();
  }

  onError(error: Error): void {
    this.#over();
    this.#reject(this.#told(error));
  }

  #told(error: Error): Error {
    if (error instanceof EgressDeniedError) return error;
    if (this.#stop === undefined) return new NotRunError('The server cannot be reached.', { cause: error });
    if (error instanceof ProxyError) return error;
    return new ProxyError('upstream_unavailable', 'The connection to the server broke; the call may have run.', {
      cause: error,
    });
  }

  #over(): void {
    this.#linger?.();
    this.#signal.removeEventListener('abort', this.#abort);
  }
}
