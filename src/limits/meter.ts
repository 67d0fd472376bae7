// How often something may happen, for each key by itself: a bucket that fills again with time (GCRA, the
// generic cell rate algorithm). One number is kept for a key, and only so many keys, however many come.
import { LRUCache } from 'lru-cache';

export interface Rate {
  /** So many each second, for as long as one likes. */
  readonly perSecond: number;
  /** So many at once after a pause; at least 1. */
  readonly burst: number;
}

interface Bucket {
  /** Epoch ms at which it is full again. */
  fullAt: number;
}

export class Meter {
  readonly #buckets: LRUCache<string, Bucket>;

  /** @param maxKeys beyond it the key seen longest ago is forgotten, and begins anew should it come back */
  constructor(maxKeys: number) {
    this.#buckets = new LRUCache({ max: maxKeys });
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Counts one and gives 0; or counts nothing and gives the time to wait, in ms. */
  take(key: string, { perSecond, burst }: Rate, now: number): number {
    const stepMs = 1_000 / perSecond;
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#buckets.set(key, { fullAt: now + stepMs });
      return 0;
    }
    const emptyMs = stepMs * burst;
    // Never emptier than empty: neither a clock set back nor a rate that was raised shuts anybody out for long.
    const fullAt = Math.min(Math.max(bucket.fullAt, now), now + emptyMs);
    const waitMs = fullAt + stepMs - emptyMs - now;
    // A thousandth of a step is what adding fractions costs.
    const isRefused = waitMs > stepMs / 1_000;
    bucket.fullAt = isRefused ? fullAt : fullAt + stepMs;
    return isRefused ? waitMs : 0;
  }

  /** What was taken shall not count after all. */
  giveBack(key: string, { perSecond }: Rate): void {
    const bucket = this.#buckets.peek(key);
    if (bucket !== undefined) bucket.fullAt -= 1_000 / perSecond;
  }
}
