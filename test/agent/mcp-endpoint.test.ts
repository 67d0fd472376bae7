import type { OutgoingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { Listeners } from '../../src/agent/listeners.ts';
import { createMcpEndpoint } from '../../src/agent/mcp-endpoint.ts';
import { createMethods } from '../../src/agent/methods.ts';
import { parseMcpRoute } from '../../src/agent/route.ts';
import { Sessions } from '../../src/agent/sessions.ts';
import type { Caller } from '../../src/identity/caller.ts';
import type { Answer, Call, Operations } from '../../src/proxy/operations.ts';
import { type ErrorCode, ProxyError } from '../../src/shared/errors.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Reply } from '../../src/wire/reply.ts';
import { aCaller, ANNA, BEN, ownerKeyOf, settled } from '../catalog/a-tenant.ts';
import { SELF, viewOf } from '../catalog/a-view.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Answered, ADoor, until } from './a-door.ts';

const MODERN = '2026-07-28';
const META = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } };
const JSON_BODY: OutgoingHttpHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

type CallTool = (caller: Caller, call: Call, signal: AbortSignal) => Promise<Answer>;

class Bench {
  readonly clock = new FakeClock();
  readonly sessions = new Sessions(this.clock);
  readonly lines: string[] = [];
  readonly listeners = new Listeners({ registry: { onChange: () => () => undefined }, changes: new AChangeFeed(), ownerKeyOf, clock: this.clock, onInterest: () => undefined });
  readonly calls: { caller: Caller; call: Call; signal: AbortSignal }[] = [];
  callTool: CallTool = () => Promise.resolve({ kind: 'result', result: { content: [] } });
  listTools: Operations['listTools'] = () => Promise.resolve(viewOf([['linear', ['search']]]));
  isStopping = false;
  /** Awaited before anybody is known. */
  lookUp: Promise<void> | undefined;
  #door: ADoor | undefined;

  async door(): Promise<ADoor> {
    const operations: Operations = {
      callTool: (caller, call, signal) => (this.calls.push({ caller, call, signal }), this.callTool(caller, call, signal)),
      listTools: (...args) => this.listTools(...args),
    };
    const mcp = createMcpEndpoint({
      authenticate: (request) => {
        const name = request.headers.authorization;
        if (name === undefined) throw new ProxyError('unauthenticated', 'No credential.');
        if (name === 'weak') throw new ProxyError('insufficient_scope', 'Not allowed.');
        const caller = aCaller(name === 'ben' ? BEN : ANNA);
        return this.lookUp === undefined ? caller : this.lookUp.then(() => caller);
      },
      challenge: (_request, route, { code }) => `Bearer path="${route.path}", why="${code}"`,
      methods: createMethods(operations, SELF),
      sessions: this.sessions,
      listeners: this.listeners,
      logger: createLogger('debug', { write: (line) => void this.lines.push(line) }),
      isStopping: () => this.isStopping,
    });
    return (this.#door ??= await ADoor.open((request, response) => {
      const route = parseMcpRoute(request.url ?? '');
      if (route === undefined) response.writeHead(404).end();
      else mcp(request, response, route);
    }));
  }

  async post(message: unknown, headers: OutgoingHttpHeaders = {}, path = '/mcp'): Promise<Answered & { json: () => Record<string, unknown> }> {
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    const answered = await (await this.door()).request('POST', path, { ...JSON_BODY, authorization: 'anna', ...headers }, body);
    return { ...answered, json: () => JSON.parse(answered.text) as Record<string, unknown> };
  }

  async session(headers: OutgoingHttpHeaders = {}, params: object = { protocolVersion: '2025-11-25', capabilities: {} }, path = '/mcp'): Promise<{ 'mcp-session-id': string }> {
    const answered = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers, path);
    return { 'mcp-session-id': String(answered.headers['mcp-session-id']) };
  }

  async modern(method: string, params: object = {}, headers: OutgoingHttpHeaders = {}): Promise<Answered & { json: () => Record<string, unknown> }> {
    const name = (params as { name?: string }).name;
    return this.post({ jsonrpc: '2.0', id: 'm', method, params: { ...params, _meta: META } }, { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': name }), ...headers });
  }

  async close(): Promise<void> {
    this.listeners.close();
    this.sessions.close();
    await this.#door?.close();
  }
}

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

const request = (method: string, params?: object, id: unknown = 1): object => ({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
const hanging: CallTool = (_caller, _call, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

describe('before anything is read', () => {
  it('a sender without a credential is told where to get one, and nothing is processed', async () => {
    begin();
    const door = await bench.door();
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answered = await door.request(method, '/t/acme/mcp', { ...JSON_BODY, accept: '*/*' }, method === 'POST' ? '{broken' : undefined);
      expect([answered.status, answered.headers['www-authenticate']]).toEqual([401, 'Bearer path="/t/acme/mcp", why="unauthenticated"']);
      expect(JSON.parse(answered.text)).toEqual({ jsonrpc: '2.0', id: null, error: { code: 401, message: 'No credential.', data: { error: 'unauthenticated' } } });
    }
    expect((await bench.post(request('ping'), { authorization: 'weak' })).headers['www-authenticate']).toContain('insufficient_scope');
  });

  it.each([
    ['a body that is no JSON by its type', { 'content-type': 'text/plain' }, 415],
    ['no type', { 'content-type': '' }, 415],
    ['an Accept that leaves nothing', { accept: 'text/html' }, 406],
  ])('B293: %s is refused, in JSON', async (_, headers, status) => {
    begin();
    const answered = await bench.post(request('ping'), headers);
    expect([answered.status, answered.headers['content-type']]).toEqual([status, 'application/json']);
    expect(answered.json()).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it.each(['PUT', 'PATCH', 'HEAD', 'OPTIONS'])('B301: %s is not allowed, and what is, is said', async (method) => {
    begin();
    const answered = await (await bench.door()).request(method, '/mcp', { authorization: 'anna' });
    expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST, GET, DELETE']);
  });

  it('B126: a body that is too large is refused with and without its length said before', async () => {
    begin();
    const door = await bench.door();
    const large = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'y'.repeat(4 * 1024 * 1024)}"}}`;
    const told = await bench.post(large);
    expect([told.status, told.headers['connection'], told.json()['error']]).toMatchObject([413, 'close', { code: -32600 }]);
    const chunked = door.raw('POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    for (let n = 0; n < 80; n++) chunked.socket.write(`10000\r\n${'y'.repeat(65_536)}\r\n`);
    await until(() => chunked.text().includes('413'), 'the refusal');
  });

  it('a node that stops takes nothing new, and says when to come again', async () => {
    begin().isStopping = true;
    const answered = await bench.post(request('ping'));
    expect([answered.status, answered.headers['retry-after'], answered.json()['error']]).toMatchObject([503, '1', { code: 503, data: { error: 'stopping' } }]);
  });

  it('B011: nothing is begun for an agent that left while it was being looked up', async () => {
    begin();
    const session = await bench.session();
    let known: () => void = () => undefined;
    bench.lookUp = new Promise((resolve) => (known = resolve));
    const door = await bench.door();
    const head = `HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\naccept: text/event-stream\r\nmcp-session-id: ${session['mcp-session-id']}\r\n`;
    const sockets = [door.raw(`GET /mcp ${head}\r\n`).socket, door.raw(`DELETE /mcp ${head}\r\n`).socket];
    await settled();
    for (const socket of sockets) socket.destroy();
    await settled();
    known();
    await settled();
    expect([bench.listeners.size, bench.sessions.size]).toEqual([0, 1]);
    // No stream is thought to be open, so the session ends in its time.
    bench.clock.advance(2 * 3_600_000);
    expect(bench.sessions.size).toBe(0);
  });
});

describe('a session', () => {
  it('begins with initialize, in a version that both know', async () => {
    begin();
    const answered = await bench.post(request('initialize', { protocolVersion: '2025-06-18', capabilities: {} }, 'a'));
    expect(answered.headers['mcp-session-id']).toMatch(/^[\w-]{43}$/);
    expect(answered.json()).toEqual({ jsonrpc: '2.0', id: 'a', result: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo: SELF } });
    expect((await bench.post(request('initialize', { protocolVersion: '1999-01-01' }))).json()).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
    expect((await bench.post(request('initialize', { protocolVersion: MODERN }))).json()).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
  });

  it('is needed for everything else, and belongs to its caller and path', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('ping'))).status).toBe(400);
    expect((await bench.post(request('ping'), session)).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    for (const [headers, path] of [[{ authorization: 'ben' }, '/mcp'], [{}, '/mcp/linear'], [{ 'mcp-session-id': 'x'.repeat(43) }, '/mcp']] as const) {
      const answered = await bench.post(request('ping'), { ...session, ...headers }, path);
      expect([answered.status, answered.json()['error']]).toEqual([404, { code: -32001, message: 'The session is not known; initialize again.' }]);
    }
  });

  it('B305: speaks one version', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '2025-11-25' })).status).toBe(200);
    expect((await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '2025-06-18' })).status).toBe(400);
    expect((await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '1999-01-01' })).json()).toMatchObject({ error: { code: -32022 } });
  });

  it('takes notifications and answers with 202 and nothing', async () => {
    begin();
    const session = await bench.session();
    for (const message of [{ jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', id: 1, result: {} }, { jsonrpc: '2.0', method: 'made/up' }]) {
      expect(await bench.post(message, session)).toMatchObject({ status: 202, text: '' });
    }
  });

  it('ends with DELETE, and is not known afterwards', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    expect((await door.request('DELETE', '/mcp', { authorization: 'ben', ...session })).status).toBe(404);
    expect((await door.request('DELETE', '/mcp', { authorization: 'anna', ...session })).status).toBe(204);
    expect((await bench.post(request('ping'), session)).status).toBe(404);
  });

  it('has one stream at a time: a new one ends the one before', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    const get = `GET /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\naccept: text/event-stream\r\nmcp-session-id: ${session['mcp-session-id']}\r\n\r\n`;
    const first = door.raw(get);
    await until(() => first.text().includes(': listening'), 'the first stream');
    const second = door.raw(get);
    await until(() => second.text().includes(': listening') && first.text().endsWith('0\r\n\r\n'), 'the second in its place');
    expect(bench.listeners.size).toBe(1);
    second.socket.destroy();
    await until(() => bench.listeners.size === 0, 'no stream');
    // It may be opened again, and idles in its time.
    bench.clock.advance(2 * 3_600_000);
    expect(bench.sessions.size).toBe(0);
  });

  it('B288, B301: gives its stream to anyone who takes events', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    expect((await door.request('GET', '/mcp', { authorization: 'anna', accept: 'application/json', ...session })).status).toBe(406);
    expect((await door.request('GET', '/mcp', { authorization: 'anna', accept: '*/*' })).status).toBe(400);
    expect((await door.request('GET', '/mcp', { authorization: 'anna', 'mcp-session-id': 'x' })).status).toBe(404);
  });
});

describe('a method', () => {
  it('that is not there gets -32601: 200 with a session, 404 without (2026-07-28 §basic/transports)', async () => {
    begin();
    const session = await bench.session();
    for (const method of ['resources/list', 'logging/setLevel', 'server/discover', 'x'.repeat(500)]) {
      const answered = await bench.post(request(method), session);
      expect([answered.status, answered.json()]).toMatchObject([200, { id: 1, error: { code: -32601 } }]);
      expect(answered.text.length).toBeLessThan(300);
    }
    for (const method of ['ping', 'initialize', 'prompts/list']) expect([(await bench.modern(method)).status, (await bench.modern(method)).json()]).toMatchObject([404, { id: 'm', error: { code: -32601 } }]);
  });

  it('server/discover says what there is', async () => {
    begin();
    expect((await bench.modern('server/discover')).json()).toEqual({
      jsonrpc: '2.0',
      id: 'm',
      result: {
        resultType: 'complete',
        supportedVersions: [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        capabilities: { tools: { listChanged: true } },
        ttlMs: 60_000,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': SELF },
      },
    });
  });

  it('tools/list gives the page of the era; a cursor that is not of this list is -32602', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('tools/list'), session)).json()).toMatchObject({ result: { tools: [{ name: 'linear__search' }] } });
    expect((await bench.modern('tools/list')).json()).toMatchObject({ result: { resultType: 'complete', tools: [{ name: 'linear__search' }] } });
    for (const cursor of ['x', '', 7, null]) expect((await bench.post(request('tools/list', { cursor }), session)).json(), String(cursor)).toMatchObject({ error: { code: -32602 } });
    bench.listTools = () => Promise.resolve(undefined);
    expect((await bench.post(request('tools/list'), session)).json()).toMatchObject({ error: { code: -32602, message: 'There is no such server.' } });
  });

  it('tools/call hands on what was asked: name, params, token, scope, abilities', async () => {
    begin();
    const session = await bench.session({}, { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }, '/mcp/linear');
    await bench.post(request('tools/call', { name: 'a', arguments: { x: 1 }, _meta: { progressToken: 'ü' } }), session, '/mcp/linear');
    await bench.modern('tools/call', { name: 'b' });
    expect(bench.calls.map(({ call }) => call)).toMatchObject([
      { name: 'a', era: 'legacy', scope: { only: 'linear' }, params: { name: 'a', arguments: { x: 1 } }, progressToken: '"\\u00fc"', capabilities: { elicitation: {} } },
      { name: 'b', era: 'modern', scope: { only: undefined }, progressToken: undefined, capabilities: { sampling: {} } },
    ]);
    expect((await bench.post(request('tools/call', {}), session, '/mcp/linear')).json()).toMatchObject({ error: { code: -32602 } });
  });
});

describe('a result', () => {
  it('B120: carries the id of its request, of the same type and value', async () => {
    begin();
    const session = await bench.session();
    bench.callTool = () => Promise.resolve({ kind: 'reply', reply: Reply.from(Buffer.from('{"jsonrpc":"2.0","id":77,"result":{"n":9007199254740993}}')) as Reply, edits: [] });
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
    expect((await bench.modern('tools/call', { name: 'a' })).json()['result']).toEqual({ resultType: 'complete', content: [], _meta: { 'io.modelcontextprotocol/serverInfo': SELF } });
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
    expect(answered.text).toBe('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    expect((await bench.post(request('tools/call', { name: 'a' }), { ...session, accept: 'application/json' })).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
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
    bench.callTool = () => Promise.reject(new ProxyError(code as ErrorCode, 'Said so.', { data: { retryAfterMs: 1_500 } }));
    for (const answered of [await bench.post(request('tools/call', { name: 'a' }), session), await bench.modern('tools/call', { name: 'a' })]) {
      expect(answered.status).toBe(status);
      if (told === 'result') expect(answered.json()).toMatchObject({ result: { isError: true, structuredContent: { error: code } } });
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
    expect((await bench.post(request('tools/call', { name: 'a' }), session)).text).toContain('data: {"jsonrpc":"2.0","id":1,"error":{"code":503,"message":"Busy.","data":{"error":"overloaded"}}}\n\n');
  });
});

describe('a call that nobody waits for any more', () => {
  it('B030: ends at once, cancelled by its id, and gets no answer', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const calling = bench.post(request('tools/call', { name: 'a' }, 'c1'), session);
    await until(() => bench.calls.length === 1, 'the call');
    await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } }, session);
    expect(await calling).toMatchObject({ status: 202, text: '' });
    expect(bench.calls[0]?.signal.reason).toMatchObject({ code: 'cancelled' });
  });

  it('B030: is not ended by an id of another session, type or value', async () => {
    begin().callTool = hanging;
    const [session, other] = [await bench.session(), await bench.session()];
    const calling = bench.post(request('tools/call', { name: 'a' }, 7), session);
    await until(() => bench.calls.length === 1, 'the call');
    for (const [requestId, from] of [[7, other], ['7', session], [8, session], [null, session], [undefined, session]] as const) {
      await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, from);
    }
    expect(bench.calls[0]?.signal.aborted).toBe(false);
    await bench.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }, session);
    await calling;
  });

  it('ends when the agent goes away, and leaves no trace in its session', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const door = await bench.door();
    const body = JSON.stringify(request('tools/call', { name: 'a' }));
    const { socket } = door.raw(`POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\nmcp-session-id: ${session['mcp-session-id']}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => bench.calls.length === 1, 'the call');
    socket.destroy();
    await until(() => bench.calls[0]?.signal.aborted === true, 'the call to end');
    await settled();
    expect(bench.sessions.find(session['mcp-session-id'], aCaller(), { tenant: undefined, only: undefined, path: '/mcp' })?.inFlight?.size).toBe(0);
  });

  it('ends with its session', async () => {
    begin().callTool = hanging;
    const session = await bench.session();
    const calling = bench.post(request('tools/call', { name: 'a' }), session);
    await until(() => bench.calls.length === 1, 'the call');
    await (await bench.door()).request('DELETE', '/mcp', { authorization: 'anna', ...session });
    expect(await calling).toMatchObject({ status: 202 });
  });
});

describe('listening without a session', () => {
  it('says first what of the wish is honoured, then what happens, and ends with an empty result', async () => {
    begin();
    const door = await bench.door();
    const body = JSON.stringify(request('subscriptions/listen', { notifications: { toolsListChanged: true, promptsListChanged: true }, _meta: META }, 'l1'));
    const { text } = door.raw(`POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\nmcp-protocol-version: ${MODERN}\r\nmcp-method: subscriptions/listen\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => text().includes('acknowledged'), 'the acknowledgement');
    const meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}';
    expect(text()).toContain(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},${meta}}}`);
    bench.listeners.close();
    await until(() => text().includes('"resultType":"complete"'), 'the end');
    expect(text()).toContain(`{"jsonrpc":"2.0","id":"l1","result":{"resultType":"complete",${meta}}}`);
  });

  it('wants to know for what, and is no GET', async () => {
    begin();
    expect((await bench.modern('subscriptions/listen', { notifications: 7 })).json()).toMatchObject({ error: { code: -32602 } });
    for (const method of ['GET', 'DELETE']) {
      const answered = await (await bench.door()).request(method, '/mcp', { authorization: 'anna', 'mcp-protocol-version': MODERN });
      expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST']);
    }
  });
});
