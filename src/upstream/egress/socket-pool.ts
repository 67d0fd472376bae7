// The sockets to one origin, with one client of undici for each. Which of them is free is kept instead of looked for,
// so that a request costs the same beside two sockets as beside two hundred.
import { Client, type Dispatcher } from 'undici';

export interface SocketPoolOptions {
  readonly client: Client.Options;
  /** At most so many sockets; requests beyond wait for one, in the order they came. Null: no limit. */
  readonly maxSockets: number | null;
  /** A socket that is older takes no further request. */
  readonly maxAgeMs: number;
  readonly now: () => number;
  /** No socket is left, and nobody waits for one. */
  readonly onEmpty: () => void;
}

interface Slot {
  readonly client: Client;
  /** Undefined while it has no socket. */
  openedAt: number | undefined;
  isFree: boolean;
}

/** The signal says that whoever asked has left, and has been told so. */
export interface PoolRequest extends Dispatcher.DispatchOptions {
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly request: PoolRequest;
  readonly handler: Dispatcher.DispatchHandler;
}

export class SocketPool {
  readonly #origin: string;
  readonly #options: SocketPoolOptions;
  readonly #slots = new Set<Slot>();
  /** Last used, first taken: the others can go idle and be closed. */
  readonly #free: Slot[] = [];
  /** With what forgets to look whether they leave. */
  readonly #waiting = new Map<Waiting, () => void>();
  #isDestroyed = false;

  constructor(origin: string, options: SocketPoolOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  /** Errors go to the handler. */
  dispatch(request: PoolRequest, handler: Dispatcher.DispatchHandler): void {
    const slot = this.#takeFree() ?? this.#open();
    if (slot === undefined) this.#wait({ request, handler });
    else this.#run(slot, { request, handler });
  }

  /** Ends all of it: what runs, waits or comes later is told so. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    const slots = [...this.#slots];
    this.#slots.clear();
    this.#free.length = 0;
    const ended = slots.map(({ client }) => client.destroy());
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting())
      this.dispatch(next.request, next.handler);
    await Promise.all(ended);
  }

  /** Whoever leaves takes the request along, however long the line stands still. */
  #wait(waiting: Waiting): void {
    const left = (): void => void this.#waiting.delete(waiting);
    waiting.request.signal?.addEventListener('abort', left, { once: true });
    this.#waiting.set(waiting, () => waiting.request.signal?.removeEventListener('abort', left));
  }

  #nextWaiting(): Waiting | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [waiting, stay] = next;
    this.#waiting.delete(waiting);
    stay();
    return waiting;
  }

  #takeFree(): Slot | undefined {
    for (let slot = this.#free.pop(); slot !== undefined; slot = this.#free.pop()) {
      slot.isFree = false;
      if (this.#isFit(slot)) return slot;
      this.#drop(slot);
    }
    return undefined;
  }

  #isFit({ openedAt }: Slot): boolean {
    return openedAt !== undefined && this.#options.now() - openedAt <= this.#options.maxAgeMs;
  }

  #open(): Slot | undefined {
    const { client: options, maxSockets, now } = this.#options;
    if (maxSockets !== null && this.#slots.size >= maxSockets) return undefined;
    const slot: Slot = { client: new Client(this.#origin, options), openedAt: undefined, isFree: false };
    slot.client.on('connect', () => {
      slot.openedAt = now();
    });
    slot.client.on('disconnect', () => {
      slot.openedAt = undefined;
      if (slot.isFree) this.#leave(slot);
    });
    // Of some failures, as of a certificate of another name, undici says no more than this.
    slot.client.on('connectionError', () => {
      if (this.#slots.has(slot)) this.#leave(slot);
    });
    slot.client.on('drain', () => this.#release(slot));
    this.#slots.add(slot);
    // It tells whoever comes, in the words of either kind of handler that undici knows.
    if (this.#isDestroyed) void slot.client.destroy();
    return slot;
  }

  #run(slot: Slot, { request, handler }: Waiting): void {
    slot.client.dispatch(request, handler);
    // Refused as no request at all: no event will say that it is over.
    if (slot.client.stats.size === 0) this.#release(slot);
  }

  /** Its request is over. */
  #release(slot: Slot): void {
    if (slot.isFree || !this.#slots.has(slot)) return;
    if (!this.#isFit(slot)) return this.#leave(slot);
    const next = this.#nextWaiting();
    if (next === undefined) {
      slot.isFree = true;
      this.#free.push(slot);
    } else this.#run(slot, next);
  }

  /** Gives its place to whoever waits longest. */
  #leave(slot: Slot): void {
    this.#drop(slot);
    const other = this.#waiting.size === 0 ? undefined : this.#open();
    const next = other === undefined ? undefined : this.#nextWaiting();
    if (other !== undefined && next !== undefined) this.#run(other, next);
    else if (this.#slots.size === 0) this.#options.onEmpty();
  }

  #drop(slot: Slot): void {
    this.#slots.delete(slot);
    if (slot.isFree) this.#free.splice(this.#free.indexOf(slot), 1);
    slot.isFree = false;
    void slot.client.destroy();
  }
}
