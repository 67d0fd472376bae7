import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchJson } from '../../src/upstream/fetch-json.ts';
import { ExchangeBench, JSON_TYPE, refusal } from './an-exchange.ts';

let bench: ExchangeBench;
beforeEach(() => {
  bench = new ExchangeBench();
});
afterEach(() => bench.close());

describe('a server that cannot be reached', () => {
  it('says that nothing ran', async () => {
    const origin = await bench.serve(() => undefined);
    await bench.server?.close();
    expect(await refusal(bench.ask(origin))).toMatchObject({
      name: 'NotRunError',
      code: 'upstream_unavailable',
      mayRetryNow: true,
    });
    expect(await refusal(bench.ask('http://no-such-host.invalid'))).toMatchObject({ name: 'NotRunError' });
  });

  it('says that nothing ran when the door did not let it out', async () => {
    const origin = await bench.serve((_req, res) => res.end());
    bench.dispatcher = bench.opened({
      connectTimeoutMs: 1_000,
      socketsPerOrigin: 1,
      allow: ({ hostname }) => {
        throw new Error(`${hostname} is not allowed`);
      },
    });
    expect(await refusal(bench.ask(origin))).toMatchObject({ name: 'NotRunError' });
    expect(bench.server?.sockets.accepted).toBe(0);
  });

  it('B035: says that something may have run once a byte has left', async () => {
    const origin = await bench.serve((req) => req.socket.resetAndDestroy());
    expect(await refusal(bench.ask(origin))).toMatchObject({
      name: 'ProxyError',
      code: 'upstream_unavailable',
      message: expect.stringContaining('may have run'),
    });
  });
});

describe('a document', () => {
  const NEVER = new AbortController().signal;
  const document = async (status: number, body: string | Buffer): Promise<unknown> => {
    const origin = await bench.serve((_req, res) => res.writeHead(status, JSON_TYPE).end(body));
    return refusal(
      fetchJson(bench.door, `${origin}/keys?a=1`, NEVER)
        .then((value) => ({ value }))
        .then((value) => Promise.reject(value as unknown as Error)),
    );
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
