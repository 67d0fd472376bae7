// The one way out. Every socket to an upstream or to a sign-in server is opened here and nowhere else, past
// the address guard. Redirects are never followed by the library, and proxy variables of the environment are
// ignored.
import { type Client, Dispatcher } from 'undici';
import type { CheckOrigin } from './check-origin.ts';
import { type ConnectorDeps, createConnector } from './connector.ts';
import { SocketPool } from './socket-pool.ts';

export interface DoorOptions extends ConnectorDeps {
  /** One for all doors: it depends on the policy alone. */
  readonly checkOrigin: CheckOrigin;
  /** Sockets per origin at most; requests beyond wait for one. Null: no limit. */
  readonly socketsPerOrigin: number | null;
}

/** A socket that is older is not used for further requests, so that it is checked anew. */
const SOCKET_AGE_MS = 10 * 60_000;

/** Sockets are pooled per origin and carry no identity of their own: the credential travels in each request. */
export function openDoor(options: DoorOptions): Door {
  return new PooledDoor(options);
}

export interface Door extends Dispatcher {
  /** It has no socket and opens none: nothing is under way, and closing it disturbs nobody. */
  readonly isEmpty: boolean;
}

class PooledDoor extends Dispatcher implements Door {
  readonly #options: DoorOptions;
  readonly #client: Client.Options;
  readonly #pools = new Map<string, SocketPool>();
  #isDestroyed = false;

  constructor(options: DoorOptions) {
    super();
    this.#options = options;
    this.#client = {
      connect: createConnector(options),
      pipelining: 1,
      allowH2: false,
      // Each wait has its own owner: the call's deadline, the connect phase, or a listener. An idle
      // timer of the client would cut quiet streams.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Below the usual limits of fronts and servers, so that a socket is not taken just as it dies.
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: 16_384,
    };
  }

  // An origin is forgotten with its last socket.
  get isEmpty(): boolean {
    return this.#pools.size === 0;
  }

  /** Throws EgressDeniedError; all other errors go to the handler. */
  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(request.origin);
    this.#options.checkOrigin(origin);
    (this.#pools.get(origin) ?? this.#open(origin)).dispatch(request, handler);
    return true;
  }

  override async destroy(): Promise<void> {
    this.#isDestroyed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #open(origin: string): SocketPool {
    const { socketsPerOrigin, clock } = this.#options;
    const pool = new SocketPool(origin, {
      client: this.#client,
      maxSockets: socketsPerOrigin,
      maxAgeMs: SOCKET_AGE_MS,
      now: () => clock.now(),
      onEmpty: () => this.#pools.delete(origin),
    });
    if (this.#isDestroyed) void pool.destroy();
    this.#pools.set(origin, pool);
    return pool;
  }
}
