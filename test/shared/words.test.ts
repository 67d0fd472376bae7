import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CredentialRefusedError,
  NotRunError,
  OwnError,
  ProxyError,
  SignInRequiredError,
  toProxyError,
} from '../../src/shared/errors.ts';
import { parsePrincipalId, parseTenantId, randomId } from '../../src/shared/id.ts';
import { createLogger, describeError } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';

describe('a secret', () => {
  it('cannot be printed by accident', () => {
    const secret = new Secret('s3cret-value');
    const shown = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ deep: [secret] }, { showHidden: true, depth: 9 }),
      Object.values(secret).join(),
      JSON.stringify(Object.entries(secret)),
    ];
    for (const text of shown) expect(text).not.toContain('s3cret-value');
    expect(secret.reveal()).toBe('s3cret-value');
  });

  it('does not reach a log line, wherever it stands', () => {
    const lines: string[] = [];
    const logger = createLogger('debug', { write: (line) => void lines.push(line) });
    logger.info({ secret: new Secret('s3cret-value'), nested: { x: new Secret('s3cret-value') } }, 'one');
    logger.info(
      {
        token: 's3cret-value',
        authorization: 's3cret-value',
        deep: { password: 's3cret-value' },
        headers: { a: 's3cret-value' },
        arguments: 's3cret-value',
        result: 's3cret-value',
      },
      'two',
    );
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain('s3cret-value');
  });
});

describe('an error in the log', () => {
  it('has class, code, message and causes, and never data or payloads', () => {
    const cause = Object.assign(new Error('socket'), {
      code: 'ECONNRESET',
      headers: { authorization: 's3cret-value' },
    });
    const error = new ProxyError('upstream_unavailable', 'It broke.', { cause, data: { url: 's3cret-value' } });
    expect(describeError(error)).toEqual({
      kind: 'ProxyError',
      code: 'upstream_unavailable',
      message: 'It broke.',
      cause: { kind: 'Error', code: 'ECONNRESET' },
    });
    expect(describeError('s3cret-value')).toEqual({ kind: 'string' });
    expect(String(describeError(new OwnError('x'.repeat(1_000)))['message'])).toHaveLength(300);
  });
});

describe('errors of ours', () => {
  it('show nothing of a challenge, and keep it for discovery', () => {
    const error = new CredentialRefusedError(401, 'Bearer realm="inner"');
    expect(error).toMatchObject({
      code: 'credential_refused',
      status: 401,
      challenge: 'Bearer realm="inner"',
      data: undefined,
    });
    expect(error.message).not.toContain('inner');
  });

  it('say where to sign in, and until when', () => {
    const error = new SignInRequiredError('linear', 'http://x/connect/abc', Date.UTC(2026, 0, 1));
    expect(error.data).toEqual({
      server: 'linear',
      url: 'http://x/connect/abc',
      expiresAt: '2026-01-01T00:00:00.000Z',
    });
    expect(error.message).toContain('http://x/connect/abc');
  });

  it('say how long to wait, where the server said so', () => {
    expect(new NotRunError('busy', { waitMs: 3_000, mayRetryNow: false })).toMatchObject({
      code: 'upstream_unavailable',
      data: { retryAfterMs: 3_000 },
      mayRetryNow: false,
    });
    expect(new NotRunError('gone')).toMatchObject({ data: undefined, mayRetryNow: true });
  });

  it('hide what was thrown by surprise, and keep it as cause', () => {
    const inner = new Error('password=hunter2');
    expect(toProxyError(inner)).toMatchObject({
      code: 'internal',
      message: 'Something went wrong inside the proxy.',
      cause: inner,
      data: undefined,
    });
    const own = new ProxyError('denied', 'No.');
    expect(toProxyError(own)).toBe(own);
  });
});

describe('names that must not be mixed up', () => {
  it.each(['', 'Acme', 'a_b', '-a', 'a-', 'a b', 'é', 'a'.repeat(65), '../x', 'a\u0000'])(
    'refuses %j as a tenant',
    (text) => {
      expect(parseTenantId(text)).toBeUndefined();
    },
  );

  it.each(['a', 'acme', 'a-b-1', '7', 'a'.repeat(64)])('takes %j as a tenant', (text) => {
    expect(parseTenantId(text)).toBe(text);
  });

  it.each(['', ' ', ' a', 'a ', 'a\n', '\u0000', 'a\u007f', 'x'.repeat(513)])(
    'B223: refuses %j as a principal',
    (text) => {
      expect(parsePrincipalId(text)).toBeUndefined();
    },
  );

  it.each(['a', 'A', 'anna@acme.test', 'https://idp.test#sub', 'größe', 'x'.repeat(512)])(
    'takes %j as a principal, byte for byte',
    (text) => {
      expect(parsePrincipalId(text)).toBe(text);
    },
  );

  it('B282: ids are long, plain and never come again', () => {
    const ids = new Set(Array.from({ length: 1_000 }, () => randomId()));
    expect(ids.size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        (bytes) => Buffer.from(randomId(bytes), 'base64url').length === bytes,
      ),
    );
  });
});
