// A server that hangs up, or floods, while its answer is not read: what comes of it is an answer or an error, and the
// process lives.
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetDial } from '../../../src/upstream/egress/dial.ts';
import { READ_AHEAD_BYTES } from '../../../src/upstream/egress/read-ahead.ts';
import { exchangeOnce, type HttpAnswer, type HttpRequest } from '../../../src/upstream/http-exchange.ts';
import { openTestDoor } from '../../support/a-door.ts';
import { deferred } from '../../support/deferred.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { within } from '../../support/within.ts';

const EVENTS = 'content-type: text/event-stream\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const EVENT = 'data: {"a":1}\n\n';

interface Ends {
  readonly headers?: string;
  readonly body: string;
  /** How the server leaves. */
  readonly end: (socket: Socket, done: () => void) => void;
}

const hangUp = (socket: Socket, done: () => void): void => void socket.end(done);
/** Closed with something unread, a socket is reset. */
const reset = (socket: Socket, done: () => void): void => {
  socket.once('close', done);
  socket.destroy();
};

describe('a server that leaves while its answer waits to be read', () => {
  const clock = new FakeClock();
  const stops: (() => unknown)[] = [];
  let goOn: () => void = () => undefined;
  let reading: Promise<void> | undefined;
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);

  beforeEach(() => {
    uncaught.length = 0;
    process.on('uncaughtException', note);
    reading = new Promise((resolve) => (goOn = resolve));
  });
  afterEach(async () => {
    process.off('uncaughtException', note);
    for (const stop of stops.splice(0)) await stop();
  });

  /** Reads nothing behind the first events until the server has left. */
  async function ask({ headers = EVENTS, body, end }: Ends): Promise<HttpAnswer | Error> {
    const left = deferred();
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.pause();
        socket.write(`HTTP/1.1 200 OK\r\n${headers}connection: close\r\n\r\n${body}`, () => end(socket, left.resolve));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const dispatcher = openTestDoor({ clock });
    stops.push(
      () => dispatcher.destroy(),
      () => server.close(),
    );
    const request: HttpRequest = {
      origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
      path: '/',
      method: 'POST',
      headers: [],
      body: 'x'.repeat(4_000_000),
      onEvent: () => false,
      onBatch: () => reading,
    };
    const asked = exchangeOnce({ dispatcher, clock }, request).catch((error: unknown) => error as Error);
    await within(left.promise, 'the server to leave');
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    goOn();
    return within(asked, 'what comes of it');
  }

  it.each<[string, Ends]>([
    ['with a whole answer', { body: EVENT, end: hangUp }],
    [
      'in the middle of chunks',
      { headers: `${EVENTS}transfer-encoding: chunked\r\n`, body: chunk(EVENT), end: hangUp },
    ],
    ['in the middle of a length', { headers: `${EVENTS}content-length: 999\r\n`, body: EVENT, end: hangUp }],
    ['by a reset', { body: EVENT.repeat(100), end: reset }],
    [
      'by a reset, in the middle of chunks',
      {
        headers: `${EVENTS}transfer-encoding: chunked\r\n`,
        body: chunk(EVENT).repeat(100),
        end: reset,
      },
    ],
  ])('%s ends that one exchange, and nothing else', async (_how, ends) => {
    const came = await ask(ends);
    expect(uncaught).toEqual([]);
    if (came instanceof Error) expect(came).toMatchObject({ code: 'upstream_unavailable' });
    else expect(came.status).toBe(200);
  });
});

describe('a flood', () => {
  it('is taken from the system no faster than it is looked at', async () => {
    const clock = new FakeClock();
    const [piece, most] = [chunk(EVENT).repeat(4_096), 64 * 1024 * 1024];
    let written = 0;
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      const pour = (): void => {
        while (written < most) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', pour);
        }
      };
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${EVENTS}transfer-encoding: chunked\r\n\r\n`);
        pour();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const sockets: Socket[] = [];
    const dial = createNetDial(clock);
    const dispatcher = openTestDoor({
      clock,
      dial: async (wanted) => {
        const socket = await dial(wanted);
        sockets.push(socket);
        return socket;
      },
    });
    const stop = new AbortController();
    let [batches, held] = [0, 0];
    const enough = deferred();
    const request: HttpRequest = {
      origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
      path: '/',
      method: 'POST',
      headers: [],
      signal: stop.signal,
      onEvent: () => false,
      // A slow reader: each time a piece is looked at, and then there is a pause.
      onBatch: () => {
        if (++batches === 300) enough.resolve();
        return new Promise((resolve) => {
          setImmediate(() => {
            held = Math.max(held, sockets[0]?.readableLength ?? 0);
            clock.advance(1_000);
            resolve();
          });
        });
      },
    };
    const asked = exchangeOnce({ dispatcher, clock }, request).catch((error: unknown) => error);
    await within(enough.promise, 'some of it to be read');
    stop.abort(new Error('enough'));
    await within(asked, 'the end');
    await dispatcher.destroy();
    await new Promise((resolve) => server.close(resolve));
    expect(held).toBeLessThan(4 * READ_AHEAD_BYTES);
  });
});
