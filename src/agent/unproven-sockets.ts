// Sockets over which nobody has come with a good credential yet: so many of one address, and so many in all.
// Beyond that the one that has been so for longest ends, and not the newest: who has a key shows it at once.
import type { Socket } from 'node:net';
import type { ClientAddress } from '../limits/client-address.ts';

/** An office behind one address opens a few for each browser. */
const MAX_PER_ADDRESS = 1_000;
const MAX_UNPROVEN = 20_000;

export class UnprovenSockets {
  readonly #clients: Pick<ClientAddress, 'of' | 'isFront'>;
  /** Oldest first. */
  readonly #all = new Map<Socket, string>();
  readonly #byAddress = new Map<string, Set<Socket>>();

  constructor(clients: Pick<ClientAddress, 'of' | 'isFront'>) {
    this.#clients = clients;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Of a front nothing is counted: its sockets carry many people's requests. */
  add(socket: Socket): void {
    if (this.#clients.isFront(socket.remoteAddress)) return;
    const address = this.#clients.of({ socket, headers: {} });
    const mine = this.#byAddress.get(address) ?? new Set();
    if (mine.size >= MAX_PER_ADDRESS) this.#end(mine.values().next().value);
    if (this.#all.size >= MAX_UNPROVEN) this.#end(this.#all.keys().next().value);
    this.#all.set(socket, address);
    this.#byAddress.set(address, mine.add(socket));
    socket.once('close', () => this.proved(socket));
  }

  /** Somebody known asked over it, or it is gone: it counts no more. */
  proved(socket: Socket): void {
    const address = this.#all.get(socket);
    if (address === undefined) return;
    this.#all.delete(socket);
    const mine = this.#byAddress.get(address);
    mine?.delete(socket);
    if (mine?.size === 0) this.#byAddress.delete(address);
  }

  #end(socket: Socket | undefined): void {
    if (socket === undefined) return;
    this.proved(socket);
    socket.destroy();
  }
}
