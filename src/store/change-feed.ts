// Hears every change in the database, from this node and from others, and says `resync` whenever something may have been missed.
import type { Change, ChangeFeed } from '../shared/changes.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type Listening, listen } from './listening.ts';
import { parseChange } from './parse-change.ts';

const RESYNC_EVERY_MS = 60_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

export interface OpenChangeFeed extends ChangeFeed {
  /** What this node just wrote: it need not wait for its own notice, which comes all the same. */
  announce(change: Change): void;
  close(): Promise<void>;
}

/** Rejects when the first connection fails; from then on it reconnects by itself. */
export async function openChangeFeed(databaseUrl: string, clock: Clock, logger: Logger): Promise<OpenChangeFeed> {
  const feed = new Feed(databaseUrl, clock, logger);
  await feed.open();
  return feed;
}

class Feed implements OpenChangeFeed {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Set<(change: Change) => void>();
  #listening: Listening | undefined;
  #failures = 0;
  #closed = false;
  #stopResync: Cancel = () => undefined;
  #stopRetry: Cancel = () => undefined;

  constructor(url: string, clock: Clock, logger: Logger) {
    this.#url = url;
    this.#clock = clock;
    this.#logger = logger;
  }

  async open(): Promise<void> {
    await this.#connect();
    // NOTIFY keeps nothing for those who were away, and a notice can be lost without a trace.
    this.#stopResync = this.#clock.every(RESYNC_EVERY_MS, () => this.#emit({ kind: 'resync' }));
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  announce(change: Change): void {
    if (!this.#closed) this.#emit(change);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopResync();
    this.#stopRetry();
    this.#listeners.clear();
    await this.#listening?.close();
  }

  async #connect(): Promise<void> {
    const listening = await listen(this.#url, this.#clock, (payload) => this.#hear(payload));
    if (this.#closed) return listening.close();
    this.#listening = listening;
    this.#failures = 0;
    void listening.lost.then((reason) => {
      this.#listening = undefined;
      this.#retry(reason);
    });
  }

  #retry(reason: unknown): void {
    if (this.#closed) return;
    const delayMs = retryDelayMs(this.#failures++, Math.random());
    this.#logger.warn({ error: describeError(reason), delayMs }, 'not listening for changes');
    this.#stopRetry = this.#clock.after(delayMs, () => {
      this.#connect().then(
        // Only now that the new connection listens can nothing fall between reading and hearing.
        () => this.#emit({ kind: 'resync' }),
        (error: unknown) => this.#retry(error),
      );
    });
  }

  #hear(payload: string): void {
    const change = parseChange(payload);
    if (change === undefined) this.#logger.debug({ length: payload.length }, 'a notice that is no change was ignored');
    else this.#emit(change);
  }

  #emit(change: Change): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // One listener's fault must not keep the others from hearing.
        this.#logger.error({ error: describeError(error), change: change.kind }, 'a listener for changes failed');
      }
    }
  }
}

/** Doubles up to half a minute; half of it is left to chance, so that nodes do not come back together. */
export function retryDelayMs(failures: number, chance: number): number {
  const longest = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
  return Math.round(longest * (0.5 + chance / 2));
}
