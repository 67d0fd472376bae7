import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../src/upstream/http-follow.ts';
import { within } from '../support/within.ts';
import { ExchangeBench, refusal, STREAM } from './an-exchange.ts';

let bench: ExchangeBench;
beforeEach(() => {
  bench = new ExchangeBench();
});
afterEach(() => bench.close());

describe('a stream', () => {
  const events = (res: ServerResponse, ...data: string[]): void => {
    res.writeHead(200, STREAM);
    for (const one of data) res.write(`data: ${one}\n\n`);
  };

  it('is over with the answer it brought, and taken away when it stays open two seconds longer', async () => {
    const origin = await bench.serve((_req, res) => events(res, 'answer', 'more'));
    const heard: string[] = [];
    await bench.ask(origin, { onEvent: (data) => (heard.push(data), true) });
    expect(heard).toEqual(['answer']);
    bench.clock.advance(1_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect([bench.seen.closed, bench.clock.pending]).toEqual([0, 1]);
    bench.clock.advance(1);
    await bench.seen.until(() => bench.seen.closed === 1, 'the socket to be taken away');
  });

  it('that ends by itself behind its answer costs nobody a socket, and leaves no timer', async () => {
    const origin = await bench.serve((_req, res) => {
      events(res, 'answer');
      res.end();
    });
    for (let n = 0; n < 5; n++) await bench.ask(origin, { onEvent: () => true });
    await bench.seen.until(() => bench.seen.closed === 5, 'all to be over');
    await within(
      (async () => {
        while (bench.clock.pending > 0) await new Promise(setImmediate);
      })(),
      'the timers to be gone',
    );
    expect(bench.server?.sockets.accepted).toBeLessThanOrEqual(2);
  });

  it('B019: hears nothing of events of another kind', async () => {
    const origin = await bench.serve((_req, res) => {
      res.writeHead(200, STREAM);
      res.end('event: ping\ndata: 1\n\nevent: message\ndata: 2\n\ndata: 3\n\n');
    });
    const heard: string[] = [];
    await bench.ask(origin, { onEvent: (data) => (heard.push(data), false) });
    expect(heard).toEqual(['2', '3']);
  });

  it('is not read on for an agent that reads slowly, until it has caught up', async () => {
    let sent = 0;
    const origin = await bench.serve((_req, res) => {
      res.writeHead(200, STREAM);
      const pour = (): void => {
        while (!res.destroyed && res.write(`data: ${'x'.repeat(60_000)}\n\n`)) sent += 60_000;
        if (!res.destroyed) res.once('drain', pour);
      };
      pour();
    });
    const controller = new AbortController();
    let batches = 0;
    let catchUp: () => void = () => undefined;
    const answer = bench.ask(origin, {
      signal: controller.signal,
      onEvent: () => false,
      onBatch: () => (batches++, bench.seen.changed(), new Promise((resolve) => (catchUp = resolve))),
    });
    answer.catch(() => undefined);
    await bench.seen.until(() => batches === 1, 'a first batch');
    // The sockets of both ends fill up, and then nothing moves.
    let before = -1;
    await within(
      (async () => {
        while (sent !== before) {
          before = sent;
          for (let n = 0; n < 100; n++) await new Promise(setImmediate);
        }
      })(),
      'the server to be held back',
    );
    expect(batches).toBe(1);
    catchUp();
    await bench.seen.until(() => batches === 2, 'a second batch');
    controller.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
    await bench.seen.until(() => bench.seen.closed === 1, 'the socket to be closed');
  });

  it('is a plain body for one who wants no events, and where the status is no good', async () => {
    const origin = await bench.serve((_req, res) => res.writeHead(500, STREAM).end('data: x\n\n'));
    expect(await bench.ask(origin, { onEvent: () => true })).toMatchObject({
      status: 500,
      reader: undefined,
      body: Buffer.from('data: x\n\n'),
    });
  });
});

describe('leaving', () => {
  it('before it began sends nothing', async () => {
    let requests = 0;
    const origin = await bench.serve((_req, res) => (requests++, res.end()));
    expect(await refusal(bench.ask(origin, { signal: AbortSignal.abort(new Error('before')) }))).toEqual(
      new Error('before'),
    );
    expect(requests).toBe(0);
  });

  it('while it waits for a socket sends nothing', async () => {
    let requests = 0;
    const origin = await bench.serve(() => {
      requests++;
      bench.seen.changed();
    });
    const busy = new AbortController();
    const waiting = Array.from({ length: 4 }, () =>
      refusal(
        exchange(bench.door, { origin, path: '/', method: 'POST', headers: [], body: '{}', signal: busy.signal }),
      ),
    );
    await bench.seen.until(() => requests === 4, 'all sockets to be taken');
    const leaver = new AbortController();
    const left = refusal(bench.ask(origin, { signal: leaver.signal }));
    leaver.abort(new Error('left'));
    expect(await left).toEqual(new Error('left'));
    busy.abort(new Error('enough'));
    await Promise.all(waiting);
    await bench.seen.until(() => bench.seen.closed === 4, 'the others to be over');
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    expect(requests).toBe(4);
  });

  it('ends the request at the server', async () => {
    const origin = await bench.serve(() => bench.seen.changed());
    const leaver = new AbortController();
    const left = refusal(bench.ask(origin, { signal: leaver.signal }));
    await within(
      (async () => {
        while (bench.server?.sockets.open === 0) await new Promise(setImmediate);
      })(),
      'the request',
    );
    leaver.abort(new Error('left'));
    expect(await left).toEqual(new Error('left'));
    await within(
      (async () => {
        while (bench.server?.sockets.open !== 0) await new Promise(setImmediate);
      })(),
      'the socket to close',
    );
  });
});
