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

interface Waiting {
  readonly request: Dispatcher.DispatchOptions;
  readonly handler: Dispatcher.DispatchHandler;
}

export class SocketPool {
  readonly #origin: string;
  readonly #options: SocketPoolOptions;
  readonly #slots = new Set<Slot>();
  /** Last used, first taken: the others can go idle and be closed. */
  readonly #free: Slot[] = [];
  readonly #waiting = new Set<Waiting>();
  #isDestroyed = false;

  constructor(origin: string, options: SocketPoolOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  /** Errors go to the handler. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const slot = this.#takeFree() ?? this.#open();
    if (slot === undefined) this.#waiting.add({ request, handler });
    else this.#run(slot, { request, handler });
  }

  /** Ends all of it: what runs, waits or comes later is told so. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    const [slots, waiting] = [[...this.#slots], [...this.#waiting]];
    this.#slots.clear();
    this.#free.length = 0;
    this.#waiting.clear();
    const ended = slots.map(({ client }) => client.destroy());
    for (const { request, handler } of waiting) this.dispatch(request, handler);
    await Promise.all(ended);
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
    const [next] = this.#waiting;
    if (next === undefined) {
      slot.isFree = true;
      this.#free.push(slot);
    } else {
      this.#waiting.delete(next);
      this.#run(slot, next);
    }
  }

  /** Gives its place to whoever waits longest. */
  #leave(slot: Slot): void {
    this.#drop(slot);
    const [next] = this.#waiting;
    const other = next === undefined ? undefined : this.#open();
    if (next !== undefined && other !== undefined) {
      this.#waiting.delete(next);
      this.#run(other, next);
    } else if (this.#slots.size === 0) this.#options.onEmpty();
  }

  #drop(slot: Slot): void {
    this.#slots.delete(slot);
    if (slot.isFree) this.#free.splice(this.#free.indexOf(slot), 1);
    slot.isFree = false;
    void slot.client.destroy();
  }
}
