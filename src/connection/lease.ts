// One connection in the pool, with what the pool has to know about it.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import type { Connection } from './connection.ts';

export class Lease {
  readonly id: string;
  readonly key: string;
  readonly server: UpstreamServer;
  readonly credential: Credential;
  readonly connection: Connection;
  /** Epoch ms. */
  readonly openedAt: number;
  inFlight = 0;
  /** Epoch ms at which the last call ended. */
  usedAt: number;
  /** Orders uses within one millisecond. */
  usedTurn = 0;
  /** Closed when its last call ends; no new call takes it. */
  isRetired = false;
  /** Calls that wait for one of the server's places. */
  #waiting: { go: () => void }[] | undefined;

  constructor(
    id: string,
    key: string,
    server: UpstreamServer,
    credential: Credential,
    connection: Connection,
    openedAt: number,
  ) {
    this.id = id;
    this.key = key;
    this.server = server;
    this.credential = credential;
    this.connection = connection;
    this.openedAt = openedAt;
    this.usedAt = openedAt;
  }

  get waiting(): number {
    return this.#waiting?.length ?? 0;
  }

  /** Resolves when a place is free; leaves the line when the signal fires. */
  waitForPlace(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = (this.#waiting ??= []);
      const place = {
        go: (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = (): void => {
        const at = line.indexOf(place);
        if (at >= 0) line.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) leave();
      else {
        signal.addEventListener('abort', leave, { once: true });
        line.push(place);
      }
    });
  }

  /** Hands the place of a call that ended to the next in line; false when nobody waits. */
  passPlace(): boolean {
    const next = this.#waiting?.shift();
    next?.go();
    return next !== undefined;
  }
}
