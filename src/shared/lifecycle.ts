// Who opens, closes: things are closed in the reverse order of opening, once, and one failing close
// does not skip the rest.
import { OwnError } from './errors.ts';
export class Lifecycle {
  readonly #closers: { name: string; close: () => Promise<void> | void }[] = [];
  #closing: Promise<void> | undefined;

  onClose(name: string, close: () => Promise<void> | void): void {
    this.#closers.push({ name, close });
  }

  /** Closes everything; rejects with an AggregateError that names each part that failed. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const failures: Error[] = [];
    for (const { name, close } of this.#closers.reverse()) {
      try {
        await close();
      } catch (cause) {
        failures.push(new OwnError(`closing ${name} failed`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not close cleanly');
  }
}
