// The messages of one connection over the old transport that are on their way out, and for how long each may be.
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Over } from './rpc-peer.ts';
import { type Post, type PostDoor, post } from './sse-post.ts';

/** A message that nobody waits for (a notification, an answer of ours) is given up after this, waiting for a socket included. */
const UNAWAITED_MS = 30_000;
/**
 * A call was answered over the stream and its POST is still open: most servers answer it a moment later, and then
 * the socket is kept.
 */
const ANSWERED_MS = 2_000;

export class SseOutbox {
  readonly #door: PostDoor;
  readonly #clock: Clock;
  readonly #open = new Set<AbortController>();

  constructor(door: PostDoor) {
    this.#door = door;
    this.#clock = door.clock;
  }

  /**
   * `done` is called once, with an error as `post` gives it. A call that waits is the owner of its POST: it has its
   * own deadline, and some servers answer the POST only when they have done the work, so that ending it sooner would
   * end the work.
   * @param isAwaited whether somebody will say when it is over
   */
  send(message: Omit<Post, 'signal'>, done: (error?: unknown) => void, isAwaited: boolean): Over {
    const stop = new AbortController();
    this.#open.add(stop);
    const end = (): void => stop.abort(new ProxyError('cancelled', 'Nobody waits for it any more.'));
    let cancel = isAwaited ? undefined : this.#clock.after(UNAWAITED_MS, end);
    const settled = (error?: unknown): void => {
      cancel?.();
      this.#open.delete(stop);
      done(error);
    };
    post(this.#door, { ...message, signal: stop.signal }).then(() => settled(), settled);
    return (isAnswered) => {
      if (!this.#open.has(stop)) return;
      if (isAnswered) cancel = this.#clock.after(ANSWERED_MS, end);
      else end();
    };
  }

  /** Ends all of them, at once. */
  close(): void {
    for (const stop of this.#open)
      stop.abort(
        new ProxyError('upstream_unavailable', 'The connection to the server was closed; the call may have run.'),
      );
  }
}
