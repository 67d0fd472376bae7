import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { never, none, textOf } from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';
import { anHttpServer, HttpBench } from './http-bench.ts';
import { call, called, toBad } from './http-calls.ts';

let bench: HttpBench;
beforeEach(() => {
  bench = new HttpBench();
});
afterEach(() => bench.close());

describe('an answer that is not right', () => {
  it.each([
    ['unauthorized', { code: 'credential_refused', status: 401 }, { on: 'tools/call' }],
    ['forbidden', { code: 'credential_refused', status: 403 }, {}],
    [
      'insufficient-scope',
      { code: 'credential_refused', status: 403, challenge: 'Bearer error="insufficient_scope", scope="read write"' },
      {},
    ],
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
    const { server, connection } = await toBad(bench, mode, options);
    expect(await called(connection)).toMatchObject(expected);
    expect(server.strikes).toBe(1);
    server.mode = 'healthy';
    if (mode !== 'http-404') expect(textOf(await call(connection, 'echo', { a: 1 }))).toBe('{"a":1}');
  });

  it.each([
    'string-id',
    'null-id-error-first',
    'sse-crlf',
    'sse-cr',
    'sse-split',
    'sse-multi-data',
    'sse-primed',
    'sse-unknown-events',
    'sse-bom',
    'sse-no-space',
    'gzip',
  ] as const)('B019, B020, B022, B121, B296: is understood all the same: %s', async (mode) => {
    const { connection } = await toBad(bench, mode);
    expect(textOf(await within(call(connection, 'echo', { a: 1 }), 'the answer'))).toBe('{"a":1}');
  });

  it('is an error where it is both a result and an error, and none of it reads as a result', async () => {
    const { connection } = await toBad(bench, 'both-result-and-error');
    const reply = await call(connection, 'echo');
    expect(reply.isError).toBe(true);
    expect(reply.bytes.toString()).not.toContain('"result"');
  });

  it('arrives as UTF-8, whatever it was', async () => {
    const { connection } = await toBad(bench, 'invalid-utf8');
    expect(textOf(await call(connection, 'echo'))).toBe('caf\ufffd');
  });

  it('B242: of a redirect is not followed: nobody sees the credential', async () => {
    const { server, connection } = await toBad(bench, 'redirect-to-html');
    await called(connection);
    expect(server.seen.some(({ url }) => url === '/login')).toBe(false);
  });

  it('that never comes ends with the signal and leaves nothing open', async () => {
    for (const mode of ['hang', 'hang-after-headers'] as const) {
      const { server, connection } = await toBad(bench, mode);
      const controller = new AbortController();
      const calling = call(connection, 'echo', {}, { signal: controller.signal });
      calling.catch(() => undefined);
      await server.until(() => server.strikes === 1);
      controller.abort(new ProxyError('upstream_timeout', 'Too late.'));
      await expect(calling).rejects.toMatchObject({ code: 'upstream_timeout' });
      await server.until(() => server.openResponses === 0);
    }
  });

  it.each(['endless-body', 'endless-event'] as const)(
    'B128: without end is read up to the limit, then its socket is taken away: %s',
    async (mode) => {
      const { server, connection } = await toBad(bench, mode);
      expect(await called(connection)).toMatchObject({ code: 'upstream_protocol' });
      await server.until(() => server.openResponses === 0);
      expect(server.bytesSent).toBeLessThan(64 * 1024 * 1024);
    },
  );
});

describe('the server that cannot be reached', () => {
  it('says that nothing ran', async () => {
    const server = await bench.bad('healthy');
    const connection = await bench.dialed(anHttpServer(server.url));
    await server.close();
    const failed = await called(connection);
    expect(failed).toMatchObject({ code: 'upstream_unavailable' });
    await expect(within(bench.dial(anHttpServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({
      name: 'NotRunError',
      message: 'The server cannot be reached.',
    });
  });
});
