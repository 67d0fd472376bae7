// Sockets to one origin: so many and no more, used again while they are young, and nobody waits for one that is gone.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createConnector } from '../../../src/upstream/egress/connector.ts';
import { SocketPool } from '../../../src/upstream/egress/socket-pool.ts';
import { exchangeOnce } from '../../../src/upstream/http-exchange.ts';
import { eventually } from '../../store/eventually.ts';
import { doorRules, openTestDoor } from '../../support/a-door.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { within } from '../../support/within.ts';
import { Egress, PUBLIC } from './an-egress.ts';

const MINUTE = 60_000;
const PLACES = 2;

let clock: FakeClock;
let server: Server;
let origin: string;
let sockets: Socket[];
/** Requests that were not answered yet, in the order they came. */
let held: { readonly path: string; readonly socket: number; answer(headers?: Record<string, string>): void }[];
let dispatcher: Dispatcher;

function hold(request: IncomingMessage, response: ServerResponse): void {
  const answer = (headers: Record<string, string> = {}): void => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end('{}');
  };
  held.push({ path: request.url ?? '', socket: sockets.indexOf(request.socket), answer });
}

beforeEach(async () => {
  clock = new FakeClock();
  [sockets, held] = [[], []];
  server = createServer(hold).on('connection', (socket) => void sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  dispatcher = openTestDoor({ clock, socketsPerOrigin: PLACES });
});
afterEach(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

/** A socket is free a turn after its answer came. */
const ask = async (
  path: string,
  { through = dispatcher, ...more }: { headers?: string[]; signal?: AbortSignal; through?: Dispatcher } = {},
) => {
  const answer = await exchangeOnce(
    { dispatcher: through, clock },
    { origin, path, method: 'GET', headers: [], ...more },
  );
  await nextTurn();
  return answer;
};
const arrived = (count: number) => eventually(`${count} requests`, () => held.length === count);
const last = () => held[held.length - 1];

async function answered(path: string): Promise<number> {
  const before = held.length;
  const answer = ask(path);
  await arrived(before + 1);
  last()?.answer();
  await answer;
  return last()?.socket ?? -1;
}

describe('sockets to one origin', () => {
  it('are so many, and requests beyond wait in the order they came', async () => {
    const asked = ['/a', '/b', '/c', '/d', '/e'].map((path) => ask(path));
    await arrived(2);
    for (let nth = 0; nth < asked.length; nth++) {
      held[nth]?.answer();
      await asked[nth];
      await arrived(Math.min(asked.length, nth + 3));
    }
    expect(
      held
        .map(({ path }) => path)
        .slice(0, 2)
        .toSorted(),
    ).toEqual(['/a', '/b']);
    expect(held.map(({ path }) => path).slice(2)).toEqual(['/c', '/d', '/e']);
    expect(sockets).toHaveLength(PLACES);
  });

  it('are used again, the one used last first', async () => {
    const [one, two] = [ask('/one'), ask('/two')];
    await arrived(2);
    held[0]?.answer();
    await one;
    held[1]?.answer();
    await two;
    expect([await answered('/three'), await answered('/four')]).toEqual([held[1]?.socket, held[1]?.socket]);
    expect(sockets).toHaveLength(2);
  });

  it('take no further request when they are old, whether they were idle or busy', async () => {
    const young = await answered('/young');
    clock.advance(10 * MINUTE);
    expect(await answered('/at-the-limit')).toBe(young);
    clock.advance(1);
    const other = await answered('/old');
    expect(other).not.toBe(young);
    // At once, and not when it has been idle for 4 s.
    await eventually('the old one to be closed', () => sockets[young]?.destroyed === true, 2_000);
    // One that is never idle, with others in line.
    const asked = ['/a', '/b', '/c'].map((path) => ask(path));
    await arrived(5);
    clock.advance(11 * MINUTE);
    for (const { answer } of held.slice(3)) answer();
    await arrived(6);
    last()?.answer();
    await Promise.all(asked);
    expect(last()?.path).toBe('/c');
    expect(held.slice(3, 5).map(({ socket }) => socket)).not.toContain(last()?.socket);
  });

  it('that the server closes are opened anew for those who wait', async () => {
    const asked = ['/a', '/b', '/c', '/d'].map((path) => ask(path));
    await arrived(2);
    for (const { answer } of [...held]) answer({ connection: 'close' });
    await arrived(4);
    for (const { answer } of held.slice(2)) answer();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(sockets).toHaveLength(4);
  });

  it('that break fail their own request alone', async () => {
    const asked = ['/a', '/b', '/c', '/d'].map((path) =>
      ask(path).then(
        ({ status }) => status,
        () => 'broken',
      ),
    );
    await arrived(2);
    sockets[held[0]?.socket ?? -1]?.destroy();
    await arrived(3);
    held[1]?.answer();
    await arrived(4);
    for (const { answer } of held.slice(2)) answer();
    const outcomes = await Promise.all(asked);
    expect(outcomes.toSorted()).toEqual([200, 200, 200, 'broken']);
  });

  it('are left alone by a request that is none, which takes no place', async () => {
    for (let nth = 0; nth < 2 * PLACES; nth++)
      await expect(ask('/bad', { headers: ['x-key', 'two\r\nlines'] })).rejects.toMatchObject({ mayRetryNow: true });
    expect(await answered('/good')).toBe(0);
    for (let nth = 0; nth < 2 * PLACES; nth++)
      await expect(ask('/bad', { headers: ['x-key', 'two\r\nlines'] })).rejects.toMatchObject({ mayRetryNow: true });
    expect(await answered('/good')).toBe(0);
  });

  it('are not waited for by whoever left, who keeps no memory and opens no socket', async () => {
    const asked = ['/a', '/b'].map((path) => ask(path));
    await arrived(2);
    const leaving = new AbortController();
    const left = Array.from({ length: 50 }, (_, nth) => ask(`/left-${nth}`, { signal: leaving.signal }));
    const stays = ask('/stays', { signal: new AbortController().signal });
    leaving.abort(new Error('left'));
    for (const one of left) await expect(one).rejects.toThrow('left');
    for (const { answer } of [...held]) answer();
    await Promise.all(asked);
    await arrived(3);
    last()?.answer();
    await stays;
    expect(held.map(({ path }) => path).slice(2)).toEqual(['/stays']);
    expect(sockets).toHaveLength(PLACES);
  });

  it('are not used up by certificates of another name', async () => {
    const egress = await Egress.open();
    try {
      egress.network.answer('wrong.not-in-cert.org', [PUBLIC]);
      for (let nth = 0; nth < 3 * PLACES; nth++) {
        const refused = within(egress.get('https://wrong.not-in-cert.org/x'), 'the refusal', 2_000);
        await expect(refused).rejects.toMatchObject({ cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
      }
    } finally {
      await egress.close();
    }
  });
});

it('answers everybody when nobody is there, and then again when somebody is', async () => {
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const asked = await Promise.allSettled(Array.from({ length: 5 }, (_, nth) => ask(`/${nth}`)));
  expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(await answered('/again')).toBe(0);
});

it('ends what runs and what waits when it is destroyed, and takes nothing more', async () => {
  const asked = ['/a', '/b', '/c'].map((path) =>
    ask(path).then(
      () => 'answered',
      () => 'ended',
    ),
  );
  await arrived(2);
  await dispatcher.destroy();
  expect(await Promise.all(asked)).toEqual(['ended', 'ended', 'ended']);
  await expect(ask('/late')).rejects.toThrow();
  expect(held).toHaveLength(2);
});

it('says when no socket is left, so that nothing is kept of an origin that nobody asks any more', async () => {
  let emptied = 0;
  const pool = new SocketPool(origin, {
    client: { connect: createConnector(doorRules({ clock })), pipelining: 1 },
    maxSockets: PLACES,
    maxAgeMs: MINUTE,
    now: () => clock.now(),
    onEmpty: () => void (emptied += 1),
  });
  const through = {
    dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      pool.dispatch(request, handler);
      return true;
    },
  } as Dispatcher;
  const ended = ['/a', '/b'].map((path) => ask(path, { through }));
  await arrived(2);
  for (const { answer } of held) answer();
  await Promise.all(ended);
  await nextTurn();
  expect(emptied).toBe(0);
  server.closeIdleConnections();
  await eventually('the pool to be empty', () => emptied > 0);
  expect(emptied).toBe(1);
  await pool.destroy();
});
