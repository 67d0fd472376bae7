// An AbortController for one call. Node's own costs several microseconds to make (it changes a prototype
// each time), which is a good part of what a small call may cost; this one costs an object.

/** What `abort` can be asked of, a real controller or this one. */
export interface Abortable {
  abort(reason: Error): void;
}

type Listener = () => void;

/**
 * Serves as the signal itself. It has the members that this code uses of a signal: `aborted`, `reason`,
 * `throwIfAborted` and the `abort` listener. Nothing here hands a call's signal to the platform, whose
 * functions would want a real one.
 */
export class LightAbort implements Abortable {
  aborted = false;
  reason: unknown = undefined;
  #listeners: Listener[] | undefined;

  get signal(): AbortSignal {
    // The claim is proved by the tests beside this file, member by member.
    return this as unknown as AbortSignal;
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Once only, as everyone here asks for it. Like a real signal it is silent to who comes too late. */
  addEventListener(_type: 'abort', listener: Listener): void {
    if (!this.aborted) (this.#listeners ??= []).push(listener);
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }
}
