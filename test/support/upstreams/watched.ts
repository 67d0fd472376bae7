// Something that changes, and a bounded way to wait until it has changed enough.
import { within } from '../within.ts';

export class Watched {
  readonly #waiters = new Set<() => unknown>();

  changed(): void {
    for (const look of this.#waiters) look();
  }

  /** Looks now and after each change, until told to stop. */
  onChange(look: () => unknown): () => void {
    this.#waiters.add(look);
    look();
    return () => this.#waiters.delete(look);
  }

  /** Resolves once `holds`, looked at after each change; rejects after five seconds. */
  until(holds: () => boolean, what: string): Promise<void> {
    let stop: () => void = () => {};
    const seen = new Promise<void>((resolve) => {
      stop = this.onChange(() => holds() && resolve());
    });
    return within(seen, what).finally(stop);
  }
}
