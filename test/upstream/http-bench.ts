// Dials to fake servers over the real door, closed again when the test that opened them is over.
import type { Dispatcher } from 'undici';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Connection, Dial } from '../../src/connection/connection.ts';
import type { Credential } from '../../src/credential/credential.ts';
import { Secret } from '../../src/shared/secret.ts';
import { createEraMemory, type EraMemory } from '../../src/upstream/era-probe.ts';
import { createHttpDial } from '../../src/upstream/http-dial.ts';
import { loopbackPolicy, openTestDoor } from '../support/a-door.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aServer, client, credentialOf, never, secretSpec } from '../support/stdio/a-stdio-server.ts';
import {
  type BadMode,
  type BadServer,
  type BadServerOptions,
  startBadServer,
} from '../support/upstreams/bad-server.ts';
import type { KeyedServerOptions } from '../support/upstreams/keyed-options.ts';
import { type KeyedServer, startKeyedServer } from '../support/upstreams/keyed-server.ts';
import { within } from '../support/within.ts';

export const KEY = 'key-of-anna';
export const anna = credentialOf('anna', KEY);

export function anHttpServer(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  rest: Partial<UpstreamServer> = {},
): UpstreamServer {
  const secrets = new Map(Object.entries(headers).map(([name, value]) => [name, new Secret(value)]));
  return { ...aServer({ kind: 'http', url, headers: secrets }, secretSpec()), ...rest };
}

export class HttpBench {
  readonly clock = new FakeClock();
  readonly eras: EraMemory = createEraMemory(this.clock);
  readonly dispatcher: Dispatcher = openTestDoor({ socketsPerOrigin: 64 });
  readonly #doors = {
    dispatcher: this.dispatcher,
    elsewhere: openTestDoor({ policy: loopbackPolicy.withoutExceptions }),
  };
  readonly dial: Dial = createHttpDial({
    doorOf: () => ({ ...this.#doors, policy: loopbackPolicy, clock: this.clock }),
    clock: this.clock,
    eras: this.eras,
    client,
  });
  readonly #closers: (() => Promise<unknown>)[] = Object.values(this.#doors).map((door) => () => door.destroy());

  async keyed(options: Partial<KeyedServerOptions> = {}): Promise<KeyedServer> {
    const server = await startKeyedServer({ era: 'both', keys: [[KEY, 'anna']], ...options });
    this.#closers.push(() => server.close());
    return server;
  }

  async bad(mode: BadMode, options: BadServerOptions = {}): Promise<BadServer> {
    const server = await startBadServer(mode, options);
    this.#closers.push(() => server.close());
    return server;
  }

  async dialed(server: UpstreamServer, credential: Credential = anna, signal = never()): Promise<Connection> {
    const connection = await within(this.dial(server, credential, signal), 'the dial');
    this.#closers.push(() => connection.close());
    return connection;
  }

  async close(): Promise<void> {
    const closing = Promise.all(
      this.#closers
        .splice(0)
        .reverse()
        .map((close) => close()),
    );
    // What still waits for a polite end is not waited for.
    this.clock.advance(10_000);
    await closing;
  }
}

/** Advances the clock as soon as something waits for it, until `work` has settled. */
export async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>, stepMs = 500): Promise<T> {
  let isOver = false;
  const done = work.finally(() => (isOver = true));
  done.catch(() => undefined);
  const passing = (async () => {
    for (let n = 0; n < 2_000 && !isOver; n++) {
      for (let tick = 0; tick < 20 && !isOver; tick++) await new Promise(setImmediate);
      if (!isOver) clock.advance(stepMs);
    }
  })();
  const [result] = await Promise.all([within(done, 'the work'), passing]);
  return result;
}
