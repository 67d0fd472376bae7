import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Dispatcher } from 'undici';
import { openDoor } from '../../src/upstream/egress/dispatcher.ts';
import { type Door, exchange, type HttpAnswer, type HttpRequest } from '../../src/upstream/http-exchange.ts';
import { fetchJson } from '../../src/upstream/fetch-json.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';

const RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}';
const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM = { 'content-type': 'text/event-stream' };
const MIB = 1024 * 1024;

let clock: FakeClock;
let dispatcher: Dispatcher;
let seen: Watched & { closed: number };
let server: Listener | undefined;
let open: Dispatcher[] = [];

beforeEach(() => {
  clock = new FakeClock();
  dispatcher = openDoor({ connectTimeoutMs: 5_000, socketsPerOrigin: 4, allow: () => undefined });
  open = [dispatcher];
  seen = Object.assign(new Watched(), { closed: 0 });
});
afterEach(async () => {
  for (const one of open) await one.destroy();
  await server?.close();
  server = undefined;
});

const door = (): Door => ({ dispatcher, clock });

async function serve(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  server = await listen((req, res) => {
    res.on('close', () => {
      seen.closed++;
      seen.changed();
    });
    req.resume();
    handle(req, res);
  });
  return new URL(server.url).origin;
}

const ask = (origin: string, rest: Partial<HttpRequest> = {}): Promise<HttpAnswer> => within(exchange(door(), { origin, path: '/mcp', method: 'POST', headers: [], body: '{}', ...rest }), 'the answer');

const refusal = (answer: Promise<unknown>): Promise<unknown> => answer.then(() => 'no refusal', (error: unknown) => error);

describe('the head of an answer', () => {
  it('is read where it matters, whatever the case of its names', async () => {
    const origin = await serve((_req, res) => {
      res.writeHead(200, ['Content-TYPE', 'Application/JSON; charset=utf-8', 'MCP-Session-Id', 'S1', 'retry-AFTER', '3', 'Location', '/x', 'x-other', '1']);
      res.end(RESULT);
    });
    expect(await ask(origin)).toMatchObject({ status: 200, contentType: 'application/json', sessionId: 'S1', retryAfter: '3', location: '/x', challenge: undefined });
  });

  it('B142: joins challenges that come in several lines', async () => {
    const origin = await serve((_req, res) => res.writeHead(401, { 'www-authenticate': ['Basic realm="a"', 'Bearer scope="b"'] }).end());
    expect((await ask(origin)).challenge).toBe('Basic realm="a", Bearer scope="b"');
  });

  it('may come after early ones (103)', async () => {
    const origin = await serve((_req, res) => {
      res.writeEarlyHints({ link: '</a>; rel=preload' });
      res.writeHead(200, JSON_TYPE).end(RESULT);
    });
    expect((await ask(origin)).body.toString()).toBe(RESULT);
  });
});

describe('a coding that nobody asked for', () => {
  it.each([
    ['gzip', gzipSync(RESULT)],
    ['x-gzip', gzipSync(RESULT)],
    ['GZIP', gzipSync(RESULT)],
    ['deflate', deflateSync(RESULT)],
    ['br', brotliCompressSync(RESULT)],
    ['identity', Buffer.from(RESULT)],
  ])('B294, B296: is undone: %s', async (coding, body) => {
    const origin = await serve((_req, res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': coding }).end(body));
    expect((await ask(origin)).body.toString()).toBe(RESULT);
  });

  it('is undone event by event', async () => {
    let finish: () => void = () => undefined;
    const origin = await serve((_req, res) => {
      res.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(res);
      gzip.write('data: one\n\n');
      gzip.flush();
      finish = () => gzip.end('data: two\n\n');
    });
    const heard: string[] = [];
    const answer = ask(origin, { onEvent: (data) => (heard.push(data), seen.changed(), data === 'two') });
    await seen.until(() => heard.length === 1, 'the first event');
    finish();
    await answer;
    expect(heard).toEqual(['one', 'two']);
  });

  it.each(['zstd', 'compress', 'gzip, br', '__proto__', 'constructor'])('B294: is refused when it is not known: %s', async (coding) => {
    const origin = await serve((_req, res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': coding }).end(RESULT));
    expect(await refusal(ask(origin))).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining('coding') });
    await seen.until(() => seen.closed === 1, 'the answer to be left');
  });

  it('is refused when it is broken', async () => {
    const origin = await serve((_req, res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end('not gzip at all'));
    expect(await refusal(ask(origin))).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining('decompressed') });
  });

  it('B297: is counted as it grows: 40 MiB in 40 KiB are not taken', async () => {
    const bomb = gzipSync(Buffer.alloc(40 * MIB, ' '));
    const origin = await serve((_req, res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb));
    expect(await refusal(ask(origin))).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining('larger than') });
    const events = gzipSync(Buffer.concat([Buffer.from('data: '), Buffer.alloc(40 * MIB, 'x')]));
    await server?.close();
    const other = await serve((_req, res) => res.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(events));
    expect(await refusal(ask(other, { onEvent: () => false }))).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining('event') });
  });
});

describe('the size of an answer', () => {
  it('may be 16 MiB and not a byte more', async () => {
    let bytes = 16 * MIB;
    const origin = await serve((_req, res) => res.writeHead(200, JSON_TYPE).end(Buffer.alloc(bytes, ' ')));
    expect((await ask(origin)).body).toHaveLength(bytes);
    bytes++;
    expect(await refusal(ask(origin))).toMatchObject({ code: 'upstream_protocol' });
  });

  it('B275: of an error page is of no interest: it is read so far, and the rest is not waited for', async () => {
    let sent = 0;
    const origin = await serve((_req, res) => {
      res.writeHead(500, { 'content-type': 'text/html' });
      const pour = (): void => {
        while (!res.destroyed && res.write(Buffer.alloc(32_768, 'x'))) sent += 32_768;
        if (!res.destroyed) res.once('drain', pour);
      };
      pour();
    });
    expect(await ask(origin)).toMatchObject({ status: 500 });
    await seen.until(() => seen.closed === 1, 'the endless page to be left');
    expect(sent).toBeLessThan(64 * MIB);
  });
});

describe('a stream', () => {
  const events = (res: ServerResponse, ...data: string[]): void => {
    res.writeHead(200, STREAM);
    for (const one of data) res.write(`data: ${one}\n\n`);
  };

  it('is over with the answer it brought, and taken away when it stays open two seconds longer', async () => {
    const origin = await serve((_req, res) => events(res, 'answer', 'more'));
    const heard: string[] = [];
    await ask(origin, { onEvent: (data) => (heard.push(data), true) });
    expect(heard).toEqual(['answer']);
    clock.advance(1_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect([seen.closed, clock.pending]).toEqual([0, 1]);
    clock.advance(1);
    await seen.until(() => seen.closed === 1, 'the socket to be taken away');
  });

  it('that ends by itself behind its answer costs nobody a socket, and leaves no timer', async () => {
    const origin = await serve((_req, res) => {
      events(res, 'answer');
      res.end();
    });
    for (let n = 0; n < 5; n++) await ask(origin, { onEvent: () => true });
    await seen.until(() => seen.closed === 5, 'all to be over');
    await within((async () => { while (clock.pending > 0) await new Promise(setImmediate); })(), 'the timers to be gone');
    expect(server?.sockets.accepted).toBeLessThanOrEqual(2);
  });

  it('B019: hears nothing of events of another kind', async () => {
    const origin = await serve((_req, res) => {
      res.writeHead(200, STREAM);
      res.end('event: ping\ndata: 1\n\nevent: message\ndata: 2\n\ndata: 3\n\n');
    });
    const heard: string[] = [];
    await ask(origin, { onEvent: (data) => (heard.push(data), false) });
    expect(heard).toEqual(['2', '3']);
  });

  it('is not read on for an agent that reads slowly, until it has caught up', async () => {
    let sent = 0;
    const origin = await serve((_req, res) => {
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
    const answer = ask(origin, { signal: controller.signal, onEvent: () => false, onBatch: () => (batches++, seen.changed(), new Promise((resolve) => (catchUp = resolve))) });
    answer.catch(() => undefined);
    await seen.until(() => batches === 1, 'a first batch');
    // The sockets of both ends fill up, and then nothing moves.
    let before = -1;
    await within((async () => {
      while (sent !== before) {
        before = sent;
        for (let n = 0; n < 100; n++) await new Promise(setImmediate);
      }
    })(), 'the server to be held back');
    expect(batches).toBe(1);
    catchUp();
    await seen.until(() => batches === 2, 'a second batch');
    controller.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
    await seen.until(() => seen.closed === 1, 'the socket to be closed');
  });

  it('is a plain body for one who wants no events, and where the status is no good', async () => {
    const origin = await serve((_req, res) => res.writeHead(500, STREAM).end('data: x\n\n'));
    expect(await ask(origin, { onEvent: () => true })).toMatchObject({ status: 500, reader: undefined, body: Buffer.from('data: x\n\n') });
  });
});

describe('leaving', () => {
  it('before it began sends nothing', async () => {
    let requests = 0;
    const origin = await serve((_req, res) => (requests++, res.end()));
    expect(await refusal(ask(origin, { signal: AbortSignal.abort(new Error('before')) }))).toEqual(new Error('before'));
    expect(requests).toBe(0);
  });

  it('while it waits for a socket sends nothing', async () => {
    let requests = 0;
    const origin = await serve(() => {
      requests++;
      seen.changed();
    });
    const busy = new AbortController();
    const waiting = Array.from({ length: 4 }, () => refusal(exchange(door(), { origin, path: '/', method: 'POST', headers: [], body: '{}', signal: busy.signal })));
    await seen.until(() => requests === 4, 'all sockets to be taken');
    const leaver = new AbortController();
    const left = refusal(ask(origin, { signal: leaver.signal }));
    leaver.abort(new Error('left'));
    expect(await left).toEqual(new Error('left'));
    busy.abort(new Error('enough'));
    await Promise.all(waiting);
    await seen.until(() => seen.closed === 4, 'the others to be over');
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    expect(requests).toBe(4);
  });

  it('ends the request at the server', async () => {
    const origin = await serve(() => seen.changed());
    const leaver = new AbortController();
    const left = refusal(ask(origin, { signal: leaver.signal }));
    await within((async () => { while (server?.sockets.open === 0) await new Promise(setImmediate); })(), 'the request');
    leaver.abort(new Error('left'));
    expect(await left).toEqual(new Error('left'));
    await within((async () => { while (server?.sockets.open !== 0) await new Promise(setImmediate); })(), 'the socket to close');
  });
});

describe('a server that cannot be reached', () => {
  it('says that nothing ran', async () => {
    const origin = await serve(() => undefined);
    await server?.close();
    expect(await refusal(ask(origin))).toMatchObject({ name: 'NotRunError', code: 'upstream_unavailable', mayRetryNow: true });
    expect(await refusal(ask('http://no-such-host.invalid'))).toMatchObject({ name: 'NotRunError' });
  });

  it('says that nothing ran when the door did not let it out', async () => {
    const origin = await serve((_req, res) => res.end());
    dispatcher = openDoor({ connectTimeoutMs: 1_000, socketsPerOrigin: 1, allow: ({ hostname }) => { throw new Error(`${hostname} is not allowed`); } });
    open.push(dispatcher);
    expect(await refusal(ask(origin))).toMatchObject({ name: 'NotRunError' });
    expect(server?.sockets.accepted).toBe(0);
  });

  it('B035: says that something may have run once a byte has left', async () => {
    const origin = await serve((req) => req.socket.resetAndDestroy());
    expect(await refusal(ask(origin))).toMatchObject({ name: 'ProxyError', code: 'upstream_unavailable', message: expect.stringContaining('may have run') });
  });
});

describe('a document', () => {
  const NEVER = new AbortController().signal;
  const document = async (status: number, body: string | Buffer): Promise<unknown> => {
    const origin = await serve((_req, res) => res.writeHead(status, JSON_TYPE).end(body));
    return refusal(fetchJson(door(), `${origin}/keys?a=1`, NEVER).then((value) => ({ value })).then((value) => Promise.reject(value as unknown as Error)));
  };

  it('is read when it is JSON of a sensible size', async () => {
    expect(await document(200, '{"keys":[]}')).toEqual({ value: { keys: [] } });
  });

  it.each([
    [404, '{}'],
    [302, '{}'],
    [200, '<html>'],
    [200, Buffer.alloc(256 * 1024 + 1, ' ')],
  ])('B128: is refused otherwise: status %d', async (status, body) => {
    expect(await document(status, body)).toMatchObject({ code: 'upstream_protocol' });
  });
});
