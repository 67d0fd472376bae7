import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../../src/shared/id.ts';
import { createCheckOrigin } from '../../../src/upstream/egress/check-origin.ts';
import { openDoor } from '../../../src/upstream/egress/dispatcher.ts';
import { TenantDoors } from '../../../src/upstream/egress/tenant-doors.ts';
import { exchangeOnce, type HttpAnswer } from '../../../src/upstream/http-exchange.ts';
import { doorRules } from '../../support/a-door.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type Listener, listen } from '../../support/upstreams/listener.ts';
import { Watched } from '../../support/upstreams/watched.ts';
import { within } from '../../support/within.ts';

const [ACME, UMBRELLA] = ['acme' as TenantId, 'umbrella' as TenantId];
const SWEEP_MS = 60_000;
const LONG_MS = 10 * SWEEP_MS;

let clock: FakeClock;
let doors: TenantDoors;
let server: Listener;
let seen: Watched;
let handle: (req: IncomingMessage, res: ServerResponse) => void;
beforeEach(async () => {
  clock = new FakeClock();
  seen = new Watched();
  handle = (_req, res) => void res.end('fine');
  const rules = doorRules({ clock });
  doors = new TenantDoors(
    () => openDoor({ ...rules, socketsPerOrigin: 4, checkOrigin: createCheckOrigin(rules) }),
    clock,
  );
  server = await listen((req, res) => {
    handle(req, res);
    seen.changed();
  });
});
afterEach(async () => {
  await Promise.all([doors.close(), server.close()]);
});

async function ask(dispatcher = doors.of(ACME), origin = new URL(server.url).origin): Promise<HttpAnswer> {
  const request = { origin, path: '/', method: 'GET', headers: [] } as const;
  const answer = await within(exchangeOnce({ dispatcher, clock }, request), 'the answer');
  // The client frees its socket in the turn after the answer.
  await setImmediate();
  return answer;
}

/** From now on the server hangs up behind each answer. */
const hangUp = (): void => {
  handle = (_req, res) => void res.setHeader('connection', 'close').end('fine');
};

/** Lets time pass until every door is closed: the client hears a little later than the server says so. */
async function untilOpen(count: number): Promise<void> {
  for (let turn = 0; turn < 1_000 && doors.size > count; turn++) {
    await setImmediate();
    clock.advance(LONG_MS);
  }
  expect(doors.size).toBe(count);
}

const untilAllClosed = (): Promise<void> => untilOpen(0);

describe('the doors of tenants', () => {
  it('open at the first request, one for each tenant', async () => {
    const [acme, umbrella] = [doors.of(ACME), doors.of(UMBRELLA)];
    expect(doors.size).toBe(0);
    for (const one of [acme, umbrella, acme, doors.of(ACME)]) await ask(one);
    expect([doors.size, server.sockets.accepted]).toEqual([2, 2]);
  });

  it('stay open while they have a socket, and are closed when none is left', async () => {
    await ask();
    clock.advance(LONG_MS);
    expect(doors.size).toBe(1);
    hangUp();
    await ask();
    await untilAllClosed();
  });

  it('stay open while a request is under way, also before it has a socket', async () => {
    handle = () => undefined;
    clock.advance(SWEEP_MS - 1);
    const asking = ask().catch((error: unknown) => error);
    clock.advance(1);
    expect([doors.size, server.sockets.accepted]).toEqual([1, 0]);
    await seen.until(() => server.sockets.accepted === 1, 'the request');
    clock.advance(LONG_MS);
    expect(doors.size).toBe(1);
    await doors.close();
    expect(await asking).toMatchObject({ code: 'upstream_unavailable' });
  });

  it('open again for whoever kept the way out', async () => {
    const kept = doors.of(ACME);
    hangUp();
    await ask(kept);
    await untilAllClosed();
    handle = (_req, res) => void res.end('again');
    expect(String((await ask(kept)).body)).toBe('again');
    expect(doors.size).toBe(1);
  });

  it('are no more than are in use, however many tenants came by', async () => {
    hangUp();
    for (let nth = 0; nth < 50; nth++) await ask(doors.of(`tenant-${nth}` as TenantId));
    await untilAllClosed();
  });

  it('that were set aside serve nobody who comes later, finish what is under way and are closed with their sockets', async () => {
    const [before, other] = [doors.of(ACME), doors.of(UMBRELLA)];
    let answer: ServerResponse | undefined;
    await ask(other);
    handle = (_req, res) => (answer = res);
    const underWay = ask(before);
    await seen.until(() => answer !== undefined, 'the request');
    doors.setAside(ACME);
    handle = (_req, res) => void res.end('new');
    expect(String((await ask(doors.of(ACME))).body)).toBe('new');
    expect([doors.size, server.sockets.accepted]).toEqual([3, 3]);
    clock.advance(LONG_MS);
    answer?.end('old');
    expect(String((await underWay).body)).toBe('old');
    // Its socket is free now: nobody else gets it, but for the one who had it.
    for (const one of [doors.of(ACME), doors.of(UMBRELLA), before]) await ask(one);
    expect([doors.size, server.sockets.accepted]).toEqual([3, 3]);
    hangUp();
    await ask(before);
    await untilOpen(2);
  });

  it('that were set aside open no door of the new ones for what is said last', async () => {
    const before = doors.of(ACME);
    await ask(before);
    doors.setAside(ACME);
    hangUp();
    await ask(before);
    await untilAllClosed();
    handle = (_req, res) => void res.end('bye');
    await ask(before);
    await ask(doors.of(ACME));
    expect([doors.size, server.sockets.accepted]).toEqual([2, 3]);
    doors.setAside(ACME);
    doors.setAside(UMBRELLA);
    await doors.close();
    await expect(ask(before)).rejects.toMatchObject({ code: 'upstream_unavailable' });
  });

  it('of a tenant whose requests are all refused are closed too', async () => {
    await expect(ask(doors.of(ACME), 'https://169.254.169.254')).rejects.toMatchObject({ code: 'egress_denied' });
    clock.advance(LONG_MS);
    expect(doors.size).toBe(0);
  });

  it('let nothing out after the end, and leave no timer', async () => {
    await ask();
    await doors.close();
    await expect(ask()).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await expect(ask(doors.of(UMBRELLA))).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect([server.sockets.accepted, clock.pending]).toEqual([1, 0]);
  });
});
