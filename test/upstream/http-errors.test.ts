import { describe, expect, it } from 'vitest';
import type { HttpTransport } from '../../src/catalog/upstream-server.ts';
import { Secret } from '../../src/shared/secret.ts';
import { replyOf, retryAfterMs } from '../../src/upstream/http-errors.ts';
import type { HttpAnswer } from '../../src/upstream/http-exchange.ts';
import { credentialHeader, identityHeaders, targetOf } from '../../src/upstream/http-target.ts';
import { credentialOf, none, secretSpec } from '../support/stdio/a-stdio-server.ts';
import { anHttpServer } from './http-bench.ts';

const NOW = 1_700_000_000_000;
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}';
const ERROR = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"field colour"}}';

function answer(
  status: number,
  text = '',
  contentType = 'application/json',
  rest: Partial<HttpAnswer> = {},
): HttpAnswer {
  return {
    status,
    contentType,
    body: Buffer.from(text),
    sessionId: undefined,
    challenge: undefined,
    retryAfter: undefined,
    location: undefined,
    reader: undefined,
    ...rest,
  };
}

function outcome(one: HttpAnswer, hasSession = false): unknown {
  try {
    return replyOf(one, NOW, hasSession).bytes.toString();
  } catch (error) {
    return error;
  }
}

describe('a status of a server', () => {
  it.each([
    [401, 'credential_refused'],
    [403, 'credential_refused'],
  ])('%d says that the credential was refused, and keeps the challenge', (status, code) => {
    expect(outcome(answer(status, RESULT, 'application/json', { challenge: 'Bearer scope="a"' }))).toMatchObject({
      code,
      status,
      challenge: 'Bearer scope="a"',
    });
  });

  it('404 says that the session is lost where there was one: the request did not run', () => {
    expect(outcome(answer(404), true)).toMatchObject({
      name: 'SessionLostError',
      code: 'upstream_unavailable',
      mayRetryNow: true,
    });
    expect(outcome(answer(404, 'Not Found', 'text/html'))).toMatchObject({
      code: 'upstream_protocol',
      data: { status: 404 },
    });
  });

  it('B038: 429 says to wait: it did not run, and is not tried again at once', () => {
    expect(outcome(answer(429, '', 'text/plain', { retryAfter: '3' }))).toMatchObject({
      name: 'NotRunError',
      mayRetryNow: false,
      data: { retryAfterMs: 3_000 },
      message: expect.stringContaining('Try again in 3 s'),
    });
    expect(outcome(answer(429))).toMatchObject({ name: 'NotRunError', data: undefined });
  });

  it.each([500, 502, 503, 504])('B035: %d says that it is unavailable, and not that nothing ran', (status) => {
    const error = outcome(answer(status, '<h1>secret inner page</h1>', 'text/html', { retryAfter: '2' }));
    expect(error).toMatchObject({
      name: 'ProxyError',
      code: 'upstream_unavailable',
      data: { status, retryAfterMs: 2_000 },
    });
    expect(JSON.stringify(error)).not.toContain('inner page');
  });

  it.each([301, 302, 307, 308])('B242: %d is a redirect and is not followed', (status) => {
    const error = outcome(answer(status, '', 'text/html', { location: 'https://evil.test/steal' }));
    expect(error).toMatchObject({ code: 'upstream_protocol', data: { status } });
    expect((error as Error).message).not.toContain('evil');
  });

  it.each([
    ['a web page', answer(200, '<!doctype html>', 'text/html'), 'with text/html'],
    ['an empty body', answer(200), 'with application/json'],
    ['nothing', answer(204, '', ''), 'with no content type'],
    ['202, as for a notification', answer(202, '', ''), 'answered 202'],
    ['a type without end', answer(200, 'x', `a/${'b'.repeat(5_000)}`), 'a/bbb'],
  ])('B291, B292: that is good but brings %s is told by status and type, at once', (_, one, told) => {
    const error = outcome(one);
    expect(error).toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining(told) });
    expect((error as Error).message.length).toBeLessThan(250);
  });
});

describe('a JSON-RPC answer', () => {
  it('is taken with a good status, and an error with any other as well', () => {
    expect(outcome(answer(200, RESULT))).toBe(RESULT);
    for (const status of [200, 400, 404, 500, 503]) expect(outcome(answer(status, ERROR))).toBe(ERROR);
  });

  it('B293: is read without a type where it is an error', () => {
    expect(outcome(answer(400, ERROR, ''))).toBe(ERROR);
    expect(outcome(answer(200, RESULT, ''))).toMatchObject({ code: 'upstream_protocol' });
  });

  it('may have a type of its own that ends with +json', () => {
    expect(outcome(answer(200, RESULT, 'application/vnd.mcp+json'))).toBe(RESULT);
  });

  it('is not believed when it says that all is well and the status does not', () => {
    expect(outcome(answer(500, RESULT))).toMatchObject({ code: 'upstream_unavailable' });
    expect(outcome(answer(400, RESULT))).toMatchObject({ code: 'upstream_protocol' });
  });

  it('that is broken is no JSON with a good status, and just a status with a bad one', () => {
    expect(outcome(answer(200, '{"jsonrpc"'))).toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('not JSON'),
    });
    expect(outcome(answer(503, '{"jsonrpc"'))).toMatchObject({ code: 'upstream_unavailable' });
  });

  it('is none when it is a request of the server', () => {
    expect(outcome(answer(200, '{"jsonrpc":"2.0","id":1,"method":"ping"}'))).toMatchObject({
      code: 'upstream_protocol',
    });
  });
});

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['3', 3_000],
    [' 3 ', 3_000],
    ['86400', 300_000],
    [new Date(NOW + 5_000).toUTCString(), 5_000],
    [new Date(NOW + 86_400_000).toUTCString(), 300_000],
    [new Date(NOW - 5_000).toUTCString(), undefined],
    ['soon', undefined],
    ['-1', undefined],
    ['1e9', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %j ms', (value, ms) => {
    expect(retryAfterMs(value, NOW)).toBe(ms);
  });
});

describe('where a request goes', () => {
  const transport = (url: string, headers: Readonly<Record<string, string>> = {}): HttpTransport =>
    anHttpServer(url, headers).transport as HttpTransport;
  const key = credentialOf('anna', 'k3y');

  it('is the origin and the path with its query', () => {
    expect(targetOf(transport('https://a.test:8443/mcp/x?team=1#top'), undefined, none)).toMatchObject({
      origin: 'https://a.test:8443',
      path: '/mcp/x?team=1',
    });
  });

  it('B294: asks for no coding, and for both forms of an answer', () => {
    expect(targetOf(transport('https://a.test/'), undefined, none).headers).toEqual([
      'content-type',
      'application/json',
      'accept',
      'application/json, text/event-stream',
      'accept-encoding',
      'identity',
    ]);
  });

  it('carries the credential where it was registered to go', () => {
    expect(credentialHeader(secretSpec(), key)).toEqual(['authorization', 'Bearer k3y']);
    expect(credentialHeader(secretSpec({ header: 'x-api-key', scheme: '' }), key)).toEqual(['x-api-key', 'k3y']);
    expect(credentialHeader(secretSpec(), none)).toBeUndefined();
    expect(credentialHeader(undefined, key)).toBeUndefined();
  });

  it('lets the credential win over a static header of its name, however that is written', () => {
    const headers = new Map([
      ['Authorization', new Secret('Bearer static')],
      ['x-team', new Secret('core')],
    ]);
    expect([...identityHeaders({ kind: 'http', url: 'https://a.test', headers }, secretSpec(), key)]).toEqual([
      ['authorization', 'Bearer k3y'],
      ['x-team', 'core'],
    ]);
  });

  it.each(['a\nb', 'a\r\nx-evil: 1', 'a\u0000', '漢'])('never quotes a secret that cannot be sent: %j', (value) => {
    const send = (): unknown => credentialHeader(secretSpec(), credentialOf('anna', value));
    expect(send).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(send).not.toThrow(value);
  });
});
