// How many of something each key has now; keys with none take no room.

export class Tally {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Counts one in and gives the way to count it out, once; undefined when the key has `max` already. */
  enter(key: string, max: number): (() => void) | undefined {
    const before = this.of(key);
    if (before >= max) return undefined;
    this.#counts.set(key, before + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const left = this.of(key) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}
