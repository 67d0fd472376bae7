import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Echo } from '../../src/upstream/echo.ts';
import type { Door } from '../../src/upstream/http-exchange.ts';
import { exchange } from '../../src/upstream/http-follow.ts';
import { listenOverGet } from '../../src/upstream/http-listen.ts';
import { HttpTarget } from '../../src/upstream/http-target.ts';
import { loopbackPolicy, openTestDoor } from '../support/a-door.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';

const STREAM = { 'content-type': 'text/event-stream' };

let clock: FakeClock;
let door: Required<Door>;
let server: Listener;
let seen: Watched;
/** What the server does with each GET in turn; the last for ever. */
let gets: ((res: ServerResponse) => void)[];
let asked: number;
let lost: number;
let stops: (() => void)[];

beforeEach(async () => {
  clock = new FakeClock();
  seen = new Watched();
  door = {
    dispatcher: openTestDoor({ clock, socketsPerOrigin: 1 }),
    streams: openTestDoor({ clock, socketsPerOrigin: null }),
    elsewhere: openTestDoor({ clock, policy: loopbackPolicy.withoutExceptions }),
    policy: loopbackPolicy,
    clock,
  };
  [gets, asked, lost, stops] = [[], 0, 0, []];
  server = await listen((req, res) => {
    req.resume();
    if (req.method === 'GET') {
      (gets[Math.min(asked++, gets.length - 1)] ?? open)(res);
      seen.changed();
    } else res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
});
afterEach(async () => {
  for (const stop of stops) stop();
  await Promise.all([door.dispatcher.destroy(), door.streams.destroy(), door.elsewhere.destroy(), server.close()]);
});

const open = (res: ServerResponse): void => void res.writeHead(200, STREAM).write(': open\n\n');
const over = (res: ServerResponse): void => void res.writeHead(200, STREAM).end(': over\n\n');
const unauthorized = (res: ServerResponse): void => void res.writeHead(401).end();
const notFound = (res: ServerResponse): void => void res.writeHead(404).end();

function hear(): void {
  stops.push(
    listenOverGet(door, new HttpTarget(new URL('/mcp', server.url), [], [], new Echo([])), [], {
      onMethod: () => undefined,
      onLost: () => (lost++, seen.changed()),
      onServerRequest: () => undefined,
    }),
  );
}

/** Lets what was answered arrive. */
async function settled(): Promise<void> {
  for (let n = 0; n < 10; n++) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Lets the answer arrive, then the pause behind it pass. */
async function pass(): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.advance(60_000);
  }
}

describe('a stream that is listened to', () => {
  it('B003: tells that the session is lost when a server that had opened it knows it no more', async () => {
    gets = [over, notFound];
    hear();
    await seen.until(() => asked === 1, 'the stream');
    await pass();
    expect([asked, lost]).toEqual([2, 1]);
  });

  it('tells so as well when the credential it was opened with is no longer taken', async () => {
    gets = [over, unauthorized];
    hear();
    await seen.until(() => asked === 1, 'the stream');
    await pass();
    expect([asked, lost]).toEqual([2, 1]);
  });

  it.each([
    [404, (res: ServerResponse) => notFound(res)],
    [401, (res: ServerResponse) => unauthorized(res)],
  ])('says nothing about the session where a server never had one to offer: %d', async (_, answer) => {
    gets = [answer];
    hear();
    await seen.until(() => asked === 1, 'the question');
    await pass();
    expect([asked, lost]).toEqual([1, 0]);
  });

  it.each([
    ['0', 1_000],
    ['5000', 5_000],
    ['999999999', 60_000],
  ])(
    'T27: is opened again after a second at the soonest and a minute at the latest: "retry: %s"',
    async (retry, ms) => {
      gets = [(res) => void res.writeHead(200, STREAM).end(`retry: ${retry}\n\n`)];
      hear();
      for (let nth = 1; nth <= 3; nth++) {
        await seen.until(() => asked === nth, 'the stream');
        await settled();
        clock.advance(ms - 1);
        await settled();
        expect(asked).toBe(nth);
        clock.advance(1);
      }
      await seen.until(() => asked === 4, 'the stream again');
    },
  );

  it('takes no socket from calls', async () => {
    for (let n = 0; n < 5; n++) hear();
    await seen.until(() => asked === 5, 'all streams');
    const { origin } = new URL(server.url);
    const answer = exchange(door, { origin, path: '/mcp', method: 'POST', headers: [], body: '{}' });
    expect((await within(answer, 'the call')).status).toBe(200);
  });
});
