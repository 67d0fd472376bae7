import { afterEach, describe, expect, it } from 'vitest';
import { type ErrorCode, ProxyError } from '../../src/shared/errors.ts';
import { Reply } from '../../src/wire/reply.ts';
import { SELF } from '../catalog/a-view.ts';
import { Bench, MODERN, request } from './an-endpoint.ts';

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

describe('a method', () => {
  it('that is not there gets -32601: 200 with a session, 404 without (2026-07-28 §basic/transports)', async () => {
    begin();
    const session = await bench.session();
    for (const method of ['resources/subscribe', 'tasks/list', 'server/discover', 'x'.repeat(500)]) {
      const answered = await bench.post(request(method), session);
      expect([answered.status, answered.json()]).toMatchObject([200, { id: 1, error: { code: -32601 } }]);
      expect(answered.text.length).toBeLessThan(300);
    }
    for (const method of ['ping', 'initialize', 'logging/setLevel'])
      expect([(await bench.modern(method)).status, (await bench.modern(method)).json()]).toMatchObject([
        404,
        { id: 'm', error: { code: -32601 } },
      ]);
  });

  it('server/discover says what there is', async () => {
    begin();
    expect((await bench.modern('server/discover')).json()).toEqual({
      jsonrpc: '2.0',
      id: 'm',
      result: {
        resultType: 'complete',
        supportedVersions: [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: {}, completions: {}, logging: {} },
        ttlMs: 60_000,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': SELF },
      },
    });
  });

  it('tools/list gives the page of the era; a cursor that is not of this list is -32602', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('tools/list'), session)).json()).toMatchObject({
      result: { tools: [{ name: 'linear__search' }] },
    });
    expect((await bench.modern('tools/list')).json()).toMatchObject({
      result: { resultType: 'complete', tools: [{ name: 'linear__search' }] },
    });
    for (const cursor of ['x', '', 7, null])
      expect((await bench.post(request('tools/list', { cursor }), session)).json(), String(cursor)).toMatchObject({
        error: { code: -32602 },
      });
    bench.listTools = () => Promise.resolve(undefined);
    expect((await bench.post(request('tools/list'), session)).json()).toMatchObject({
      error: { code: -32602, message: 'There is no such server.' },
    });
  });

  it('tools/call hands on what was asked: name, params, token, scope, abilities', async () => {
    begin();
    const session = await bench.session(
      {},
      { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } },
      '/mcp/linear',
    );
    await bench.post(
      request('tools/call', { name: 'a', arguments: { x: 1 }, _meta: { progressToken: 'ü' } }),
      session,
      '/mcp/linear',
    );
    await bench.modern('tools/call', { name: 'b' });
    expect(bench.calls.map(({ call }) => call)).toMatchObject([
      {
        name: 'a',
        era: 'legacy',
        scope: { only: 'linear' },
        params: { name: 'a', arguments: { x: 1 } },
        progressToken: '"\\u00fc"',
        capabilities: { elicitation: {} },
      },
      {
        name: 'b',
        era: 'modern',
        scope: { only: undefined },
        progressToken: undefined,
        capabilities: { sampling: {} },
      },
    ]);
    expect((await bench.post(request('tools/call', {}), session, '/mcp/linear')).json()).toMatchObject({
      error: { code: -32602 },
    });
  });
});

describe('a result', () => {
  it('B120: carries the id of its request, of the same type and value', async () => {
    begin();
    const session = await bench.session();
    bench.callTool = () =>
      Promise.resolve({
        kind: 'reply',
        reply: Reply.from(Buffer.from('{"jsonrpc":"2.0","id":77,"result":{"n":9007199254740993}}')) as Reply,
        edits: [],
      });
    for (const id of ['7', 7, '007', 'a/b', 2 ** 53 - 1, 'x'.repeat(200), 'ü"']) {
      const answered = await bench.post(request('tools/call', { name: 'a' }, id), session);
      expect(answered.json()['id']).toBe(id);
      expect(answered.text).toContain('"n":9007199254740993');
    }
  });

  it('of our own is in the words of the era', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('tools/call', { name: 'a' }), session)).json()['result']).toEqual({ content: [] });
    expect((await bench.modern('tools/call', { name: 'a' })).json()['result']).toEqual({
      resultType: 'complete',
      content: [],
      _meta: { 'io.modelcontextprotocol/serverInfo': SELF },
    });
  });

  it('comes behind what was said before it, on one stream', async () => {
    begin();
    const session = await bench.session();
    bench.callTool = (_caller, { hearing }) => {
      hearing.message('{"jsonrpc":"2.0","method":"notifications/message"}');
      void hearing.flush();
      return Promise.resolve({ kind: 'result', result: {} });
    };
    const answered = await bench.post(request('tools/call', { name: 'a' }), session);
    expect(answered.text).toBe(
      'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
    );
    expect(
      (await bench.post(request('tools/call', { name: 'a' }), { ...session, accept: 'application/json' })).json(),
    ).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it.each([
    ['sign_in_required', 200, 'result'],
    ['upstream_timeout', 200, 'result'],
    ['rate_limited', 200, 'result'],
    ['not_found', 200, -32602],
    ['overloaded', 503, 503],
    ['internal', 500, -32603],
  ] as const)('that cannot be had is told to the one who can act: %s', async (code, status, told) => {
    begin();
    const session = await bench.session();
    bench.callTool = () =>
      Promise.reject(new ProxyError(code as ErrorCode, 'Said so.', { data: { retryAfterMs: 1_500 } }));
    for (const answered of [
      await bench.post(request('tools/call', { name: 'a' }), session),
      await bench.modern('tools/call', { name: 'a' }),
    ]) {
      expect(answered.status).toBe(status);
      if (told === 'result')
        expect(answered.json()).toMatchObject({ result: { isError: true, structuredContent: { error: code } } });
      else expect(answered.json()).toMatchObject({ error: { code: told, message: 'Said so.', data: { error: code } } });
      if (status === 503) expect(answered.headers['retry-after']).toBe('2');
    }
  });

  it('that fails by surprise shows nothing, and the log has it', async () => {
    begin();
    const session = await bench.session();
    bench.callTool = () => Promise.reject(new Error('password=hunter2'));
    const answered = await bench.post(request('tools/call', { name: 'a' }), session);
    expect([answered.status, answered.text.includes('hunter2')]).toEqual([500, false]);
    expect(bench.lines.join()).toContain('request failed');
  });

  it('that fails behind a stream that has begun ends the stream with the error', async () => {
    begin();
    const session = await bench.session();
    bench.callTool = (_caller, { hearing }) => {
      hearing.message('{}');
      void hearing.flush();
      return Promise.reject(new ProxyError('overloaded', 'Busy.'));
    };
    expect((await bench.post(request('tools/call', { name: 'a' }), session)).text).toContain(
      'data: {"jsonrpc":"2.0","id":1,"error":{"code":503,"message":"Busy.","data":{"error":"overloaded"}}}\n\n',
    );
  });
});
