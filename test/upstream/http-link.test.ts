import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, UpstreamRequest } from '../../src/connection/connection.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { isJsonObject, type Reply } from '../../src/wire/reply.ts';
import { aHearing, call as plainCall, credentialOf, never, none, textOf } from '../support/stdio/a-stdio-server.ts';
import type { BadMode, BadServerOptions } from '../support/upstreams/bad-server.ts';
import { listen, readBody } from '../support/upstreams/listener.ts';
import { sendText } from '../support/upstreams/responses.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { UNICODE, UNKNOWN_FIELDS } from '../support/upstreams/keyed-tools.ts';
import type { KeyedServerOptions } from '../support/upstreams/keyed-options.ts';
import { within } from '../support/within.ts';
import { anHttpServer, HttpBench, whileTimePasses } from './http-bench.ts';

let bench: HttpBench;
beforeEach(() => {
  bench = new HttpBench();
});
afterEach(() => bench.close());

const ERAS = ['legacy', 'modern'] as const;

/** A connection to a bad server, which is well until it is called. */
async function toBad(mode: BadMode, options: BadServerOptions = {}) {
  const server = await bench.bad(mode, options);
  return { server, connection: await bench.dialed(anHttpServer(server.url)) };
}

/** As the proxy calls: a modern server is told the name in a header as well. */
const call = (connection: Connection, name: string, args: Record<string, unknown> = {}, more: Partial<UpstreamRequest> = {}): Promise<Reply> => plainCall(connection, name, args, { name, ...more });

const called = (connection: Connection): Promise<unknown> => within(call(connection, 'echo', { a: 1 }).catch((error: unknown) => error), 'the call');

describe.each(ERAS)('a %s server', (era) => {
  const connected = async (options: Partial<KeyedServerOptions> = {}) => {
    const server = await bench.keyed({ era, ...options });
    return { server, connection: await bench.dialed(anHttpServer(server.url)) };
  };

  it('is spoken to in its era, after one handshake', async () => {
    const { server, connection } = await connected();
    expect(connection.era).toBe(era);
    expect(connection.capabilities).toMatchObject({ tools: { listChanged: true } });
    await call(connection, 'echo', { n: 1 });
    const { initializes, discovers, calls } = server.counters;
    expect({ initializes, discovers, calls }).toEqual(era === 'legacy' ? { initializes: 1, discovers: 0, calls: 1 } : { initializes: 0, discovers: 1, calls: 1 });
    expect(server.seen.every(({ principal }) => principal === 'anna')).toBe(true);
  });

  it('B116: gives every call its own answer, however they are mixed', async () => {
    const { connection } = await connected();
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => call(connection, 'slow', { ms: (40 - n) % 7, n })));
    answers.forEach((reply, n) => expect(textOf(reply)).toContain(`"n":${n}}`));
  });

  it.each(['json', 'sse'] as const)('gives answers byte for byte, as %s', async (reply) => {
    for (const idPosition of ['first', 'last'] as const) {
      const { connection } = await connected({ reply, idPosition });
      expect((await call(connection, 'unknown_fields')).bytes.toString()).toContain(UNKNOWN_FIELDS.slice(1));
      expect(textOf(await call(connection, 'unicode'))).toBe(UNICODE);
    }
  });

  it('passes progress on under the agent\'s token, and counts each as a sign of life', async () => {
    const { server, connection } = await connected();
    const hearing = aHearing();
    await call(connection, 'progress', { count: 3 }, { hearing, progressToken: '"mine"' });
    const tokens = hearing.messages.map((raw) => (JSON.parse(raw) as { params: { progressToken: unknown } }).params.progressToken);
    expect(tokens).toEqual(['mine', 'mine', 'mine']);
    expect(hearing.counts.progress).toBe(3);
    const sent = server.seen.find(({ method }) => method === 'tools/call')?.body;
    expect(JSON.stringify(sent)).not.toContain('mine');
  });

  it('B024: is asked for progress also for an agent that wants none, who then hears none', async () => {
    const { connection } = await connected();
    const hearing = aHearing();
    await call(connection, 'progress', { count: 2 }, { hearing });
    expect([hearing.messages, hearing.counts.progress]).toEqual([[], 2]);
  });

  it('passes its own errors on as they are', async () => {
    const { connection } = await connected();
    const reply = await call(connection, 'rpc_error');
    expect(reply.isError).toBe(true);
    expect(reply.payload()).toEqual({ code: -32602, message: 'These arguments do not fit', data: { field: 'colour', allowed: ['red'] } });
  });

  it('is told when a call is cancelled, at once and for that call alone', async () => {
    const { server, connection } = await connected();
    const controller = new AbortController();
    const [cancelled, other] = [call(connection, 'never', {}, { signal: controller.signal }), call(connection, 'slow', { ms: 50 })];
    cancelled.catch(() => undefined);
    await server.until(() => server.counters.calls === 2);
    controller.abort(new ProxyError('cancelled', 'The agent left.'));
    await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' });
    await server.until(() => server.counters.aborted === 1);
    // In the legacy revisions closing the socket is no cancellation; in the modern one nothing else is.
    if (era === 'legacy') await server.until(() => server.counters.cancelled === 1);
    expect(server.seen.filter(({ method }) => method === 'notifications/cancelled')).toHaveLength(era === 'legacy' ? 1 : 0);
    expect(textOf(await other)).toContain('who=anna');
  });

  it('ends a call that is cancelled before it is sent without sending it', async () => {
    const { server, connection } = await connected();
    await expect(call(connection, 'echo', {}, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
    expect(server.counters.calls).toBe(0);
  });

  it('B272: leaves no listener on a signal that lives on', async () => {
    const { connection } = await connected();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    for (let n = 0; n < 20; n++) await call(connection, n % 2 === 0 ? 'echo' : 'rpc_error', {}, { signal });
    expect(listeners).toBe(0);
  });

  it('B275: is spoken to over few sockets', async () => {
    const { server, connection } = await connected();
    for (let n = 0; n < 50; n++) await call(connection, 'echo');
    expect(server.sockets.accepted).toBeLessThanOrEqual(2);
  });

  it('is heard of list changes while somebody listens', async () => {
    const { server, connection } = await connected();
    const heard: string[] = [];
    const stop = connection.listen((method) => heard.push(method));
    await server.until(() => server.counters.openStreams === 1);
    server.addTool('fresh');
    await within((async () => { while (!heard.includes('notifications/tools/list_changed')) await new Promise(setImmediate); })(), 'the notice');
    stop();
    await server.until(() => server.counters.openStreams === 0);
  });

  it('B009: is listened to again with growing pauses when its stream drops', async () => {
    const { server, connection } = await connected();
    const stop = connection.listen(() => undefined);
    await server.until(() => server.counters.openStreams === 1);
    server.endStreams();
    await server.until(() => server.counters.openStreams === 0);
    await whileTimePasses(bench.clock, server.until(() => server.counters.openStreams === 1));
    stop();
  });

  it('refuses a key that it does not know, and what refused it is kept for discovery', async () => {
    const server = await bench.keyed({ era, challenge: 'Bearer resource_metadata="https://x"' });
    const refused = bench.dialed(anHttpServer(server.url), credentialOf('eve', 'wrong'));
    await expect(refused).rejects.toMatchObject({ code: 'credential_refused', status: 401, challenge: 'Bearer resource_metadata="https://x"' });
    expect(server.counters.unauthorized).toBe(1);
  });

  it('that refuses a key it took before is believed, call by call', async () => {
    const { server, connection } = await connected();
    server.keys.clear();
    await expect(call(connection, 'echo')).rejects.toMatchObject({ code: 'credential_refused', status: 401 });
    expect(server.executed.size).toBe(0);
  });
});

describe('a session of a legacy server', () => {
  it('B003: is named by every request after the first, and ends with a DELETE', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'echo');
    await connection.close();
    await connection.close();
    expect(server.counters.deletes).toBe(1);
    expect(server.sessions.size).toBe(0);
    const [, ...later] = server.seen.filter(({ headers }) => headers['mcp-protocol-version'] !== '2026-07-28');
    expect(later.every(({ headers }) => headers['mcp-session-id'] !== undefined && headers['mcp-protocol-version'] === '2025-11-25')).toBe(true);
  });

  it('B001: that is lost closes the connection, and says that nothing ran', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    let closes = 0;
    connection.onClose(() => closes++);
    server.restart();
    await expect(call(connection, 'echo')).rejects.toMatchObject({ name: 'SessionLostError', mayRetryNow: true });
    expect([connection.isClosed, closes, server.executed.size]).toEqual([true, 1, 0]);
    connection.onClose(() => closes++);
    expect(closes).toBe(2);
    // There is nothing to end any more.
    await connection.close();
    expect(server.counters.deletes).toBe(0);
  });

  it('B003: whose loss the listening stream notices first closes the connection as well', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    connection.listen(() => undefined);
    await server.until(() => server.counters.openStreams === 1);
    server.restart();
    await whileTimePasses(bench.clock, server.until(() => server.counters.unknownSessions > 0));
    await within((async () => { while (!connection.isClosed) await new Promise(setImmediate); })(), 'the connection to close');
  });

  it('B303: whose DELETE is not answered is over within two seconds all the same', async () => {
    const server = await bench.bad('healthy');
    const connection = await bench.dialed(anHttpServer(server.url));
    server.mode = 'hang';
    const closing = connection.close();
    await whileTimePasses(bench.clock, closing);
    expect(connection.isClosed).toBe(true);
  });

  it.each([
    ['nobody waits for it any more', '2025-11-25'],
    ['it speaks a version that nobody knows', '1999-01-01'],
  ])('is not left behind when it was opened and then %s', async (_, protocolVersion) => {
    const seen = new Watched();
    const [leaver, ended]: [AbortController, string[]] = [new AbortController(), []];
    const server = await listen((req, res) => {
      void readBody(req).then((text) => {
        const method = text === '' ? req.method : (JSON.parse(text) as { method: string }).method;
        if (method === 'initialize') sendText(res, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"${protocolVersion}","capabilities":{}}}`, { 'mcp-session-id': 's1' });
        else if (method === 'notifications/initialized') leaver.abort(new Error('left'));
        else if (method === 'DELETE') ended.push(String(req.headers['mcp-session-id']));
        else sendText(res, 404, '');
        seen.changed();
      });
    });
    try {
      await expect(bench.dial(anHttpServer(server.url), none, leaver.signal)).rejects.toThrow();
      await seen.until(() => ended.length === 1, 'the session to be ended');
      expect(ended).toEqual(['s1']);
    } finally {
      await server.close();
    }
  });

  it('B304: is listened to only after the handshake, and a server that offers no stream is asked once', async () => {
    const server = await bench.keyed({ era: 'legacy', listChanged: false });
    const connection = await bench.dialed(anHttpServer(server.url));
    expect(server.seen.some(({ http }) => http === 'GET')).toBe(false);
    const stop = connection.listen(() => undefined);
    await server.until(() => server.seen.some(({ http }) => http === 'GET'));
    for (let n = 0; n < 10; n++) {
      bench.clock.advance(60_000);
      await new Promise(setImmediate);
    }
    stop();
    expect(server.seen.filter(({ http }) => http === 'GET')).toHaveLength(1);
  });

  it('answers the server\'s own requests: ping at once, what no agent can be asked with a refusal', async () => {
    for (const [mode, expected] of [['asks-ping', '{}'], ['asks-sampling', '-32601'], ['asks-elicitation', '-32601'], ['asks-roots', '-32601']] as const) {
      const { connection } = await toBad(mode);
      const hearing = aHearing();
      const reply = await within(call(connection, 'echo', {}, { hearing }), 'the answer');
      expect(textOf(reply), mode).toContain(expected);
      expect(hearing.messages, mode).toEqual([]);
    }
  });
});

describe('a modern server', () => {
  it('reads in headers what the body says, name and arguments included', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'größe ü', {}, { name: 'größe ü' });
    await call(connection, 'regional', { region: 'süd' }, { name: 'regional', paramHeaders: [['mcp-param-region', '=?base64?c8O8ZA==?=']] });
    const [first, second] = server.seen.filter(({ method }) => method === 'tools/call');
    expect(first?.headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-protocol-version': '2026-07-28', 'mcp-name': '=?base64?Z3LDtsOfZSDDvA==?=' });
    expect(second?.headers).toMatchObject({ 'mcp-param-region': '=?base64?c8O8ZA==?=' });
    expect(server.executed.get('regional')).toBe(1);
  });

  it('is told per request what this agent can do', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'echo', {}, { name: 'echo', capabilities: { sampling: {} } });
    await call(connection, 'echo', {}, { name: 'echo' });
    const metas = server.seen.filter(({ method }) => method === 'tools/call').map(({ body }) => (isJsonObject(body) && isJsonObject(body['params']) ? body['params']['_meta'] : undefined));
    expect(metas).toMatchObject([{ 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } }, { 'io.modelcontextprotocol/clientCapabilities': {} }]);
  });

  it('has no session to end', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    let closes = 0;
    connection.onClose(() => closes++);
    await connection.close();
    await connection.close();
    expect([closes, connection.isClosed, server.seen.filter(({ http }) => http !== 'POST').length]).toEqual([1, true, 0]);
  });
});

describe('an answer that is not right', () => {
  it.each([
    ['unauthorized', { code: 'credential_refused', status: 401 }, { on: 'tools/call' }],
    ['forbidden', { code: 'credential_refused', status: 403 }, {}],
    ['insufficient-scope', { code: 'credential_refused', status: 403, challenge: 'Bearer error="insufficient_scope", scope="read write"' }, {}],
    ['html', { code: 'upstream_protocol', data: { status: 200 } }, {}],
    ['redirect-to-html', { code: 'upstream_protocol', data: { status: 302 } }, {}],
    ['http-400-text', { code: 'upstream_protocol', data: { status: 400 } }, { on: 'tools/call' }],
    ['http-404', { name: 'SessionLostError' }, { on: 'tools/call' }],
    ['http-500', { code: 'upstream_unavailable', data: { status: 500 } }, { on: 'tools/call' }],
    ['http-503', { code: 'upstream_unavailable', data: { status: 503, retryAfterMs: 1_000 } }, {}],
    ['http-429-once', { name: 'NotRunError', mayRetryNow: false, data: { retryAfterMs: 0 } }, {}],
    ['accepted-202', { code: 'upstream_protocol' }, {}],
    ['empty-200', { code: 'upstream_protocol' }, {}],
    ['array', { code: 'upstream_protocol' }, {}],
    ['neither-result-nor-error', { code: 'upstream_protocol' }, {}],
    ['wrong-id', { code: 'upstream_protocol' }, {}],
    ['invalid-json', { code: 'upstream_protocol' }, {}],
    ['die-mid-answer', { name: 'ProxyError', code: 'upstream_unavailable' }, {}],
    ['reset', { name: 'ProxyError', code: 'upstream_unavailable' }, {}],
    ['sse-no-answer', { name: 'ProxyError', code: 'upstream_unavailable' }, {}],
    ['sse-unterminated', { name: 'ProxyError', code: 'upstream_unavailable' }, {}],
  ] as const)('fails the call at once, by its kind: %s', async (mode, expected, options) => {
    const { server, connection } = await toBad(mode, options);
    expect(await called(connection)).toMatchObject(expected);
    expect(server.strikes).toBe(1);
    server.mode = 'healthy';
    if (mode !== 'http-404') expect(textOf(await call(connection, 'echo', { a: 1 }))).toBe('{"a":1}');
  });

  it.each(['string-id', 'null-id-error-first', 'sse-crlf', 'sse-cr', 'sse-split', 'sse-multi-data', 'sse-primed', 'sse-unknown-events', 'sse-bom', 'sse-no-space', 'gzip'] as const)('B019, B020, B022, B121, B296: is understood all the same: %s', async (mode) => {
    const { connection } = await toBad(mode);
    expect(textOf(await within(call(connection, 'echo', { a: 1 }), 'the answer'))).toBe('{"a":1}');
  });

  it('is an error where it is both a result and an error, and none of it reads as a result', async () => {
    const { connection } = await toBad('both-result-and-error');
    const reply = await call(connection, 'echo');
    expect(reply.isError).toBe(true);
    expect(reply.bytes.toString()).not.toContain('"result"');
  });

  it('arrives as UTF-8, whatever it was', async () => {
    const { connection } = await toBad('invalid-utf8');
    expect(textOf(await call(connection, 'echo'))).toBe('caf\ufffd');
  });

  it('B242: of a redirect is not followed: nobody sees the credential', async () => {
    const { server, connection } = await toBad('redirect-to-html');
    await called(connection);
    expect(server.seen.some(({ url }) => url === '/login')).toBe(false);
  });

  it('that never comes ends with the signal and leaves nothing open', async () => {
    for (const mode of ['hang', 'hang-after-headers'] as const) {
      const { server, connection } = await toBad(mode);
      const controller = new AbortController();
      const calling = call(connection, 'echo', {}, { signal: controller.signal });
      calling.catch(() => undefined);
      await server.until(() => server.strikes === 1);
      controller.abort(new ProxyError('upstream_timeout', 'Too late.'));
      await expect(calling).rejects.toMatchObject({ code: 'upstream_timeout' });
      await server.until(() => server.openResponses === 0);
    }
  });

  it.each(['endless-body', 'endless-event'] as const)('B128: without end is read up to the limit, then its socket is taken away: %s', async (mode) => {
    const { server, connection } = await toBad(mode);
    expect(await called(connection)).toMatchObject({ code: 'upstream_protocol' });
    await server.until(() => server.openResponses === 0);
    expect(server.bytesSent).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('the server that cannot be reached', () => {
  it('says that nothing ran', async () => {
    const server = await bench.bad('healthy');
    const connection = await bench.dialed(anHttpServer(server.url));
    await server.close();
    const failed = await called(connection);
    expect(failed).toMatchObject({ code: 'upstream_unavailable' });
    await expect(within(bench.dial(anHttpServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({ name: 'NotRunError', message: 'The server cannot be reached.' });
  });
});
