// A change feed that says what the test says.
import type { Change, ChangeFeed } from '../../src/shared/changes.ts';

export class AChangeFeed implements ChangeFeed {
  readonly #listeners = new Set<(change: Change) => void>();

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  say(change: Change): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}
