// Remembers by what each socket of a server was asked: a key, or whatever else tells who asked.
import type { Socket } from 'node:net';
import { Watched } from './watched.ts';

export class SocketKeys extends Watched {
  readonly #keys = new Map<Socket, Set<string>>();

  note(socket: Socket, key: string | undefined): void {
    if (key === undefined) return;
    this.#keys.set(socket, (this.#keys.get(socket) ?? new Set()).add(key));
    this.changed();
  }

  /** For each socket that carried a key: all that came over it. */
  get keysBySocket(): readonly ReadonlySet<string>[] {
    return [...this.#keys.values()];
  }

  /** Resolves when the key has come over any socket. */
  came(key: string): Promise<void> {
    return this.until(() => this.keysBySocket.some((keys) => keys.has(key)), key);
  }
}
