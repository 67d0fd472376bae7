import { Readable } from 'node:stream';
import { brotliCompressSync, createGunzip, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HttpRequest } from '../../src/upstream/http-exchange.ts';
import { within } from '../support/within.ts';
import { ExchangeBench, JSON_TYPE, MIB, RESULT, refusal, STREAM } from './an-exchange.ts';

let bench: ExchangeBench;
beforeEach(() => {
  bench = new ExchangeBench();
});
afterEach(() => bench.close());

describe('the head of an answer', () => {
  it('is read where it matters, whatever the case of its names', async () => {
    const origin = await bench.serve((_req, res) => {
      res.writeHead(200, [
        'Content-TYPE',
        'Application/JSON; charset=utf-8',
        'MCP-Session-Id',
        'S1',
        'retry-AFTER',
        '3',
        'Location',
        '/x',
        'x-other',
        '1',
      ]);
      res.end(RESULT);
    });
    expect(await bench.ask(origin)).toMatchObject({
      status: 200,
      contentType: 'application/json',
      sessionId: 'S1',
      retryAfter: '3',
      location: '/x',
      challenge: undefined,
    });
  });

  it('joins challenges that come in several lines', async () => {
    const origin = await bench.serve((_req, res) =>
      res.writeHead(401, { 'www-authenticate': ['Basic realm="a"', 'Bearer scope="b"'] }).end(),
    );
    expect((await bench.ask(origin)).challenge).toBe('Basic realm="a", Bearer scope="b"');
  });

  it('may come after early ones (103)', async () => {
    const origin = await bench.serve((_req, res) => {
      res.writeEarlyHints({ link: '</a>; rel=preload' });
      res.writeHead(200, JSON_TYPE).end(RESULT);
    });
    expect((await bench.ask(origin)).body.toString()).toBe(RESULT);
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
    const origin = await bench.serve((_req, res) =>
      res.writeHead(200, { ...JSON_TYPE, 'content-encoding': coding }).end(body),
    );
    expect((await bench.ask(origin)).body.toString()).toBe(RESULT);
  });

  it('is undone event by event', async () => {
    let finish: () => void = () => undefined;
    const origin = await bench.serve((_req, res) => {
      res.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(res);
      gzip.write('data: one\n\n');
      gzip.flush();
      finish = () => gzip.end('data: two\n\n');
    });
    const heard: string[] = [];
    const answer = bench.ask(origin, { onEvent: (data) => (heard.push(data), bench.seen.changed(), data === 'two') });
    await bench.seen.until(() => heard.length === 1, 'the first event');
    finish();
    await answer;
    expect(heard).toEqual(['one', 'two']);
  });

  it.each(['zstd', 'compress', 'gzip, br', '__proto__', 'constructor'])(
    'B294: is refused when it is not known: %s',
    async (coding) => {
      const origin = await bench.serve((_req, res) =>
        res.writeHead(200, { ...JSON_TYPE, 'content-encoding': coding }).end(RESULT),
      );
      expect(await refusal(bench.ask(origin))).toMatchObject({
        code: 'upstream_protocol',
        message: expect.stringContaining('coding'),
      });
      await bench.seen.until(() => bench.seen.closed === 1, 'the answer to be left');
    },
  );

  it('is refused when it is broken', async () => {
    const origin = await bench.serve((_req, res) =>
      res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end('not gzip at all'),
    );
    expect(await refusal(bench.ask(origin))).toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('decompressed'),
    });
  });

  it('B297: is counted as it grows: 40 MiB in 40 KiB are not taken', async () => {
    const bomb = gzipSync(Buffer.alloc(40 * MIB, ' '));
    const origin = await bench.serve((_req, res) =>
      res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(await refusal(bench.ask(origin))).toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('larger than'),
    });
    const events = gzipSync(Buffer.concat([Buffer.from('data: '), Buffer.alloc(40 * MIB, 'x')]));
    const other = await bench.serve((_req, res) =>
      res.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(events),
    );
    expect(await refusal(bench.ask(other, { onEvent: () => false }))).toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('event'),
    });
  });
});

const untilStill = (count: () => number): Promise<void> =>
  within(
    (async () => {
      for (let before = -1; before !== count(); ) {
        before = count();
        for (let n = 0; n < 100; n++) await new Promise(setImmediate);
      }
    })(),
    'nothing more to come',
  );

/** So many events of an endless stream are read until it rests; goes on with the clock, and leaves. */
async function heardAtFirst(origin: string, more: Partial<HttpRequest>): Promise<number> {
  const controller = new AbortController();
  let heard = 0;
  const onEvent = (): boolean => (heard++, bench.seen.changed(), false);
  const answer = bench.ask(origin, { ...more, signal: controller.signal, onEvent });
  answer.catch(() => undefined);
  await bench.seen.until(() => heard > 200, 'the first events');
  await untilStill(() => heard);
  const paced = heard;
  bench.clock.advance(100);
  await bench.seen.until(() => heard > paced, 'more events');
  controller.abort(new Error('enough'));
  await expect(answer).rejects.toThrow('enough');
  await bench.seen.until(() => bench.seen.closed === 1, 'the socket to be closed');
  return paced;
}

describe('an event stream that comes all at once', () => {
  const serving = (text: string): Promise<string> => bench.serve((_req, res) => res.writeHead(200, STREAM).end(text));

  it.each([
    ['when nobody hears it', {}],
    ['when its hearer has always just caught up', { onBatch: () => Promise.resolve() }],
  ])('is read piece by piece, %s', async (_when, more) => {
    expect(await heardAtFirst(await serving('data: 0\n\n'.repeat(100_000)), more)).toBeLessThan(2_000);
  });

  it('ends as any other when it turns out too large behind a rest', async () => {
    const origin = await serving(`${'data: 0\n\n'.repeat(2_000)}data: ${'x'.repeat(100_000)}`);
    const pacing = setInterval(() => bench.clock.advance(100), 1);
    const asked = refusal(bench.ask(origin, { onEvent: () => false, maxBytes: 4_000 }));
    expect(await asked.finally(() => clearInterval(pacing))).toMatchObject({ code: 'upstream_protocol' });
  });
});

describe('an event stream in a coding', () => {
  const packed = (event: string, times: number): Buffer => gzipSync(event.repeat(times));
  const serving = (body: Buffer): Promise<string> =>
    bench.serve((_req, res) => res.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(body));

  it('B297: is not unpacked further for an agent that does not read, and goes on when it does', async () => {
    const origin = await serving(packed('data: 0123456789012345678901234567890\n\n', 100_000));
    let [heard, batches] = [0, 0];
    let catchUp: () => void = () => undefined;
    const answer = bench.ask(origin, {
      onEvent: () => (heard++, false),
      onBatch: () => {
        batches++;
        bench.seen.changed();
        return heard > 20_000 ? undefined : new Promise((resolve) => (catchUp = resolve));
      },
    });
    await bench.seen.until(() => batches === 1, 'a first batch');
    await untilStill(() => heard);
    expect(batches).toBe(1);
    expect(heard).toBeLessThan(5_000);
    while (heard <= 20_000) {
      const before = batches;
      catchUp();
      bench.clock.advance(100);
      await bench.seen.until(() => batches > before, 'another batch');
    }
    const pacing = setInterval(() => bench.clock.advance(100), 1);
    await answer.finally(() => clearInterval(pacing));
    expect(heard).toBe(100_000);
  });

  it('keeps the pace of every stream', async () => {
    expect(await heardAtFirst(await serving(packed('data: 0\n\n', 100_000)), {})).toBeLessThan(2_000);
  });

  it('is unpacked no further behind its answer', async () => {
    const read = vi.spyOn(Readable.prototype, 'read');
    const bomb = gzipSync(Buffer.concat([Buffer.from('data: 0\n\n'), Buffer.alloc(30 * MIB, ' ')]));
    const origin = await serving(bomb);
    await bench.ask(origin, { onEvent: () => true });
    const unpacking = read.mock.contexts.filter((one) => (one as Readable).constructor === createGunzip().constructor);
    read.mockRestore();
    expect(unpacking.length).toBeGreaterThan(0);
    expect(unpacking.filter((one) => !(one as Readable).destroyed)).toHaveLength(0);
  });
});

describe('the size of an answer', () => {
  it('may be 16 MiB and not a byte more', async () => {
    let bytes = 16 * MIB;
    const origin = await bench.serve((_req, res) => res.writeHead(200, JSON_TYPE).end(Buffer.alloc(bytes, ' ')));
    expect((await bench.ask(origin)).body).toHaveLength(bytes);
    bytes++;
    expect(await refusal(bench.ask(origin))).toMatchObject({ code: 'upstream_protocol' });
  });

  it('B275: of an error page is of no interest: it is read so far, and the rest is not waited for', async () => {
    let sent = 0;
    const origin = await bench.serve((_req, res) => {
      res.writeHead(500, { 'content-type': 'text/html' });
      const pour = (): void => {
        while (!res.destroyed && res.write(Buffer.alloc(32_768, 'x'))) sent += 32_768;
        if (!res.destroyed) res.once('drain', pour);
      };
      pour();
    });
    expect(await bench.ask(origin)).toMatchObject({ status: 500 });
    await bench.seen.until(() => bench.seen.closed === 1, 'the endless page to be left');
    expect(sent).toBeLessThan(64 * MIB);
  });
});
