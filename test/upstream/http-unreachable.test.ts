import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPolicy } from '../../src/upstream/egress/policy.ts';
import { fetchJson } from '../../src/upstream/fetch-json.ts';
import { LOOPBACK_ALLOWED } from '../support/a-door.ts';
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
    expect(await refusal(bench.ask('https://no-such-host.test'))).toMatchObject({ name: 'NotRunError' });
  });

  it('says why nothing ran when the door did not let it out', async () => {
    const origin = await bench.serve((_req, res) => res.end());
    bench.dispatcher = bench.opened({ policy: createPolicy({ ...LOOPBACK_ALLOWED, allow: [] }) });
    expect(await refusal(bench.ask(origin))).toMatchObject({ name: 'EgressDeniedError', code: 'egress_denied' });
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
