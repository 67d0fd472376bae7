// What an agent hears that asks too often, or keeps too many streams open.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { someLimits } from '../support/limits.ts';
import { until } from './a-door.ts';
import { Bench, JSON_BODY, request } from './an-endpoint.ts';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.close());

const useUp = async (ask: () => Promise<unknown>): Promise<void> => {
  for (let n = 0; n < 20; n++) await ask();
};

describe('too many requests of somebody known', () => {
  beforeEach(() => {
    bench.limits = someLimits({ requestsPerSecond: 5 });
  });

  it('are told to the model in the result of a call, with the time to wait', async () => {
    const session = await bench.session();
    const call = () => bench.post(request('tools/call', { name: 'linear__search' }), session);
    await useUp(call);
    const answered = await call();
    expect(answered.status).toBe(200);
    expect(answered.json()).toMatchObject({
      id: 1,
      result: { isError: true, structuredContent: { error: 'rate_limited', retryAfterMs: expect.any(Number) } },
    });
    // The one that opened the session counts, too.
    expect(bench.calls).toHaveLength(19);
  });

  it('are told to a modern agent likewise', async () => {
    const call = () => bench.modern('tools/call', { name: 'linear__search' });
    await useUp(call);
    expect((await call()).json()).toMatchObject({
      result: { resultType: 'complete', isError: true, structuredContent: { error: 'rate_limited' } },
    });
  });

  it('are an error with a code of their own for other methods, with Retry-After', async () => {
    const list = () => bench.modern('tools/list');
    await useUp(list);
    const answered = await list();
    expect(answered.headers['retry-after']).toBe('1');
    expect(answered.json()).toMatchObject({
      id: 'm',
      error: { code: 429, data: { error: 'rate_limited', retryAfterMs: expect.any(Number) } },
    });
  });

  it('open no session and no stream, and the answer carries the id of its request', async () => {
    const session = await bench.session();
    await useUp(() => bench.modern('tools/list'));
    const refused = await bench.post(request('initialize', { protocolVersion: '2025-11-25', capabilities: {} }, 'i'));
    expect(refused.json()).toMatchObject({ id: 'i', error: { code: 429 } });
    expect((await bench.modern('subscriptions/listen', { notifications: {} })).json()).toMatchObject({
      id: 'm',
      error: { code: 429 },
    });
    const door = await bench.door();
    const stream = await door.request('GET', '/mcp', { ...JSON_BODY, authorization: 'anna', ...session });
    expect([stream.status, stream.headers['retry-after']]).toEqual([429, '1']);
    expect([bench.sessions.size, bench.listeners.size]).toEqual([1, 0]);
  });

  it('are served again when their time has come', async () => {
    const call = () => bench.modern('tools/call', { name: 'linear__search' });
    await useUp(call);
    bench.clock.advance(200);
    expect((await call()).json()).toMatchObject({ result: { content: [] } });
    expect((await call()).json()).toMatchObject({ result: { isError: true } });
  });

  it('never keep an agent from cancelling, answering or leaving', async () => {
    const session = await bench.session();
    await useUp(() => bench.modern('tools/list'));
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } };
    expect((await bench.post(cancelled, session)).status).toBe(202);
    expect((await bench.post({ jsonrpc: '2.0', id: 'x', result: {} }, session)).status).toBe(202);
    const door = await bench.door();
    expect((await door.request('DELETE', '/mcp', { authorization: 'anna', ...session })).status).toBe(204);
  });

  it.each<[string, (session: { 'mcp-session-id': string }) => Promise<unknown>]>([
    ['a ping', (session) => bench.post(request('ping'), session)],
    ['a notification', (session) => bench.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)],
    ['an answer to nothing', (session) => bench.post({ jsonrpc: '2.0', id: 'x', result: {} }, session)],
    ['a method that is not there', (session) => bench.post(request('tools/x'), session)],
    ['what is no JSON', (session) => bench.post('{', session)],
    ['a session that is not there', () => bench.post(request('ping'), { 'mcp-session-id': 'none' })],
    [
      'leaving a session that is not there',
      async () => (await bench.door()).request('DELETE', '/mcp', { authorization: 'anna', 'mcp-session-id': 'none' }),
    ],
  ])('are counted whatever they are: %s', async (_what, ask) => {
    const session = await bench.session();
    for (let n = 0; n < 19; n++) await ask(session);
    expect((await bench.post(request('ping'), session)).json()).toMatchObject({ id: 1, error: { code: 429 } });
    expect((await bench.modern('tools/list')).json()).toMatchObject({ error: { code: 429 } });
  });

  it('are refused by HTTP where nothing is to be learnt from reading them', async () => {
    await useUp(() => bench.modern('tools/list'));
    const large = request('tools/call', { name: 'linear__search', arguments: { text: 'x'.repeat(65 * 1024) } });
    for (const body of ['{', large]) {
      const answered = await bench.post(body);
      expect([answered.status, answered.headers['retry-after']]).toEqual([429, '1']);
      expect(answered.json()).toMatchObject({ id: null, error: { code: 429, data: { error: 'rate_limited' } } });
    }
  });

  it('are counted once: a call takes one share', async () => {
    for (let n = 0; n < 20; n++)
      expect((await bench.modern('tools/call', { name: 'linear__search' })).json()).not.toHaveProperty(
        'result.isError',
      );
  });
});

describe('too many requests of nobody known', () => {
  it('are refused by HTTP: 429 and Retry-After, before the body is read', async () => {
    const tooMany = new ProxyError('rate_limited', 'Too many.', { data: { retryAfterMs: 1_500 } });
    bench.lookUp = Promise.reject(tooMany);
    bench.lookUp.catch(() => undefined);
    for (const body of [request('tools/call', { name: 'x' }), 'not json']) {
      const answered = await bench.post(body);
      expect([answered.status, answered.headers['retry-after']]).toEqual([429, '2']);
      expect(answered.json()).toMatchObject({ id: null, error: { code: 429, data: { error: 'rate_limited' } } });
    }
    expect(bench.known).toEqual([]);
  });

  it('are told apart from those of somebody known', async () => {
    await bench.modern('tools/list');
    const door = await bench.door();
    expect((await door.request('POST', '/mcp', JSON_BODY, JSON.stringify(request('ping')))).status).toBe(401);
    expect(bench.known).toEqual(['POST']);
  });
});

describe('streams', () => {
  const listen = async (name: string): Promise<() => string> => {
    const door = await bench.door();
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 's',
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    });
    const head = [
      'POST /mcp HTTP/1.1',
      'Host: localhost',
      `Authorization: ${name}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2026-07-28',
      'Mcp-Method: subscriptions/listen',
      `Content-Length: ${body.length}`,
    ];
    const { text, socket } = door.raw(`${head.join('\r\n')}\r\n\r\n${body}`);
    await until(() => /\r\n\r\n[^]+\n/.test(text()) || text().includes('"error"'), 'an answer');
    leave.push(() => socket.destroy());
    return text;
  };
  let leave: (() => void)[] = [];
  beforeEach(() => {
    leave = [];
  });

  it('of one tenant have an end, and one that was left makes room', async () => {
    bench.limits = someLimits({ maxStreams: 2 });
    await listen('anna');
    await listen('ben');
    const refused = await listen('anna');
    expect(refused()).toContain('"error":"rate_limited"');
    expect(bench.listeners.size).toBe(2);
    leave[0]?.();
    await until(() => bench.listeners.size === 1, 'the stream to be left');
    expect((await listen('anna'))()).toContain('acknowledged');
    expect(bench.listeners.size).toBe(2);
  });
});
