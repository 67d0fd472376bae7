// Single exchanges with a server that the test writes itself.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Door, HttpAnswer, HttpRequest } from '../../src/upstream/http-exchange.ts';
import { exchange } from '../../src/upstream/http-follow.ts';
import { loopbackPolicy, openTestDoor } from '../support/a-door.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';

export const RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}';
export const JSON_TYPE = { 'content-type': 'application/json' };
export const STREAM = { 'content-type': 'text/event-stream' };
export const MIB = 1024 * 1024;

/** What the server has seen of its answers. */
class Seen extends Watched {
  closed = 0;

  close(): void {
    this.closed++;
    this.changed();
  }
}

export class ExchangeBench {
  readonly clock = new FakeClock();
  readonly seen = new Seen();
  server: Listener | undefined;
  /** The one way out; another may be put in its place. */
  dispatcher: Dispatcher;
  readonly #open: Dispatcher[] = [];

  readonly #elsewhere: Dispatcher;

  constructor() {
    this.dispatcher = this.opened({});
    this.#elsewhere = this.opened({ policy: loopbackPolicy.withoutExceptions });
  }

  opened(options: Parameters<typeof openTestDoor>[0]): Dispatcher {
    const dispatcher = openTestDoor({ clock: this.clock, ...options });
    this.#open.push(dispatcher);
    return dispatcher;
  }

  get door(): Door {
    return { dispatcher: this.dispatcher, elsewhere: this.#elsewhere, policy: loopbackPolicy, clock: this.clock };
  }

  /** Gives the origin. */
  async serve(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
    await this.server?.close();
    this.server = await listen((req, res) => {
      res.on('close', () => this.seen.close());
      req.resume();
      handle(req, res);
    });
    return new URL(this.server.url).origin;
  }

  ask(origin: string, rest: Partial<HttpRequest> = {}): Promise<HttpAnswer> {
    const request: HttpRequest = { origin, path: '/mcp', method: 'POST', headers: [], body: '{}', ...rest };
    return within(exchange(this.door, request), 'the answer');
  }

  async close(): Promise<void> {
    for (const one of this.#open) await one.destroy();
    await this.server?.close();
  }
}

export const refusal = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'no refusal',
    (error: unknown) => error,
  );
