// Dials to servers of the 2024-11-05 transport, closed again when the test that opened them is over.
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Connection, Dial } from '../../src/connection/connection.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { Secret } from '../../src/shared/secret.ts';
import { createDoorFetch } from '../../src/upstream/egress/door-fetch.ts';
import { createSseDial } from '../../src/upstream/sse-link.ts';
import { loopbackPolicy, openTestDoor } from './a-door.ts';
import { anOldSseServer, type OldOptions, type OldServer } from './old-sse-server.ts';
import { aLog, aServer, client, never, none, secretSpec } from './stdio/a-stdio-server.ts';
import { within } from './within.ts';

export function anSseServer(url: string, headers: Record<string, string> = {}, spec = secretSpec()): UpstreamServer {
  const secrets = new Map(Object.entries(headers).map(([name, value]) => [name, new Secret(value)]));
  return aServer({ kind: 'sse', url, headers: secrets }, spec);
}

/** For what is posted, to one server. */
export const SOCKETS = 8;

export class OldSseBench {
  readonly #closers: (() => Promise<void>)[] = [];

  later(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  async served(options: OldOptions = {}): Promise<OldServer> {
    const server = await anOldSseServer(options);
    this.later(() => server.close());
    return server;
  }

  dial(clock: Clock = systemClock): Dial {
    const streams = openTestDoor({ clock: systemClock, socketsPerOrigin: null });
    const calls = openTestDoor({ clock: systemClock, socketsPerOrigin: SOCKETS });
    this.later(async () => {
      await Promise.all([streams.destroy(), calls.destroy()]);
    });
    return createSseDial({
      clock,
      logger: aLog('silent').logger,
      client,
      policy: loopbackPolicy,
      waysOf: () => ({ stream: createDoorFetch(streams, loopbackPolicy), calls }),
    });
  }

  async dialed(url: string): Promise<Connection> {
    const connection = await within(this.dial()(anSseServer(url), none, never()), 'the dial');
    this.later(() => connection.close());
    return connection;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
