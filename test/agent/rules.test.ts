import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createGatekeeper } from '../../src/agent/gatekeeper.ts';
import { isJsonType, readAccept } from '../../src/agent/negotiate.ts';
import { challengeFor, resourceMetadata } from '../../src/agent/protected-resource.ts';
import { parseMcpRoute } from '../../src/agent/route.ts';
import { ProxyError } from '../../src/shared/errors.ts';

const asked = (headers: Record<string, string | undefined>): IncomingMessage =>
  ({ url: '/mcp', headers, rawHeaders: [] }) as unknown as IncomingMessage;

describe('the gatekeeper', () => {
  const local = createGatekeeper({
    publicUrl: () => 'http://127.0.0.1:8080',
    allowedHosts: undefined,
    allowedOrigins: undefined,
  });
  const open = createGatekeeper({
    publicUrl: () => 'https://mcp.acme.test/base',
    allowedHosts: ['Inner.Test', 'other.test:8443'],
    allowedOrigins: ['https://App.acme.test', 'http://dev.test:3000'],
  });

  const HOSTS: readonly (readonly [string | undefined, boolean, boolean])[] = [
    // Host, at the local one, at the open one
    ['127.0.0.1:8080', true, true],
    ['localhost', true, true],
    ['LOCALHOST:1234', true, true],
    ['[::1]:8080', true, true],
    ['mcp.acme.test', false, true],
    ['MCP.acme.test', false, true],
    ['mcp.acme.test:8443', false, false],
    ['inner.test', false, true],
    ['inner.test:9', false, true],
    ['other.test:8443', false, true],
    ['other.test', false, false],
    ['evil.test', false, false],
    ['localhost.evil.test', false, false],
    ['127.0.0.1.evil.test', false, false],
    ['localhost@evil.test', false, false],
    ['', false, false],
    ['[::1', false, false],
  ];

  const ORIGINS: readonly (readonly [string | undefined, boolean, boolean])[] = [
    [undefined, true, true],
    ['http://127.0.0.1:8080', true, true],
    ['http://localhost:5173', true, true],
    ['https://[::1]:1', true, true],
    ['https://mcp.acme.test', false, true],
    ['http://mcp.acme.test', false, false],
    ['https://mcp.acme.test:8443', false, false],
    ['https://app.ACME.test', false, true],
    ['https://app.acme.test:444', false, false],
    ['http://dev.test:3000', false, true],
    ['http://dev.test', false, false],
    ['https://evil.test', false, false],
    ['http://localhost.evil.test', false, false],
    ['null', false, false],
    ['', false, false],
    ['none', false, false],
    ['file://localhost', false, false],
    ['http://localhost, https://evil.test', false, false],
  ];

  it.each(
    HOSTS.flatMap(([host, ...atHost]) =>
      ORIGINS.map(([origin, ...atOrigin]) => ({
        host,
        origin,
        expected: [0, 1].map((n) => atHost[n] === true && atOrigin[n] === true),
      })),
    ),
  )('B311: with Host $host and Origin $origin lets through $expected', ({ host, origin, expected }) => {
    const request = asked({ host, origin });
    expect([local, open].map((keeper) => keeper.check(request, 'api') === undefined)).toEqual(expected);
    for (const keeper of [local, open]) expect([undefined, 403]).toContain(keeper.check(request, 'api'));
  });

  it('wants a Host', () => {
    expect(local.check(asked({}), 'api')).toBe(400);
  });

  it("takes the empty Origin of a sign-in page's own form there, and nowhere else", () => {
    const request = asked({ host: 'localhost', origin: 'null' });
    expect([local.check(request, 'pages'), local.check(request, 'api')]).toEqual([undefined, 403]);
    expect(local.check(asked({ host: 'evil.test', origin: 'null' }), 'pages')).toBe(403);
    expect(local.check(asked({ host: 'localhost', origin: 'https://evil.test' }), 'pages')).toBe(403);
  });

  it('B309: lets scripts of an allowed Origin read what they need, and never those of all', () => {
    const set: Record<string, unknown> = {};
    const response = { setHeader: (name: string, value: unknown) => (set[name] = value) };
    local.allowReading(asked({ host: 'localhost', origin: 'http://localhost:5173' }), response as never);
    expect(set).toEqual({
      'access-control-allow-origin': 'http://localhost:5173',
      vary: 'Origin',
      'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version, Retry-After',
    });
  });
});

describe('a route', () => {
  it.each([
    ['/mcp', undefined, undefined, '/mcp'],
    ['/mcp/', undefined, undefined, '/mcp'],
    ['/mcp?x=1', undefined, undefined, '/mcp'],
    ['/mcp/?x=/t/a/mcp', undefined, undefined, '/mcp'],
    ['/mcp/linear', undefined, 'linear', '/mcp/linear'],
    ['/mcp/linear/?x', undefined, 'linear', '/mcp/linear'],
    ['/t/acme/mcp', 'acme', undefined, '/t/acme/mcp'],
    ['/t/acme/mcp/', 'acme', undefined, '/t/acme/mcp'],
    ['/t/acme/mcp/linear', 'acme', 'linear', '/t/acme/mcp/linear'],
  ])('B298: %s is one of ours', (url, tenant, only, path) => {
    expect(parseMcpRoute(url)).toEqual({ tenant, only, path });
  });

  it.each([
    '/',
    '',
    '/MCP',
    '/mcpx',
    '/mcp//',
    '/mcp/a/b',
    '/t//mcp',
    '/t/acme',
    '/t/a/b/mcp',
    '/t/acme/mcp/a/b',
    '//mcp',
    '/x/mcp',
    '/mcp/%2e%2e',
    '/mcp/..',
    '/mcp/a"b',
    '/t/a\r\n/mcp',
    '/mcp/größe',
    `/mcp/${'a'.repeat(65)}`,
    'http://evil.test/mcp',
  ])('%s is none', (url) => {
    expect(parseMcpRoute(url)).toBeUndefined();
  });
});

describe('what an agent accepts', () => {
  it.each([
    [undefined, true, true],
    ['', true, true],
    ['application/json, text/event-stream', true, true],
    ['text/event-stream, application/json', true, true],
    ['application/json', true, false],
    ['APPLICATION/JSON', true, false],
    ['application/json;q=0.9', true, false],
    ['application/*', true, false],
    ['text/event-stream', false, true],
    ['text/*', false, true],
    ['*/*', true, true],
    ['text/html, */*;q=0.1', true, true],
    ['text/html', false, false],
    ['application/jsonx', false, false],
    [',,', false, false],
  ])('B286, B288: %j', (header, json, events) => {
    expect(readAccept(header)).toEqual({ json, events });
  });

  it.each([
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['Application/JSON', true],
    ['application/json;charset=UTF-8;x=1', true],
    [' application/json ', true],
    ['text/plain', false],
    ['application/json-patch+json', false],
    ['', false],
    [undefined, false],
  ])('B289: a body of type %j', (type, isTaken) => {
    expect(isJsonType(type)).toBe(isTaken);
  });
});

describe('where to get a token', () => {
  const route = { tenant: 'acme', only: 'linear', path: '/t/acme/mcp/linear' };
  const refused = new ProxyError('unauthenticated', 'No.');

  it('is said by the challenge: an error only where a token came', () => {
    const metadata = 'resource_metadata="https://mcp.acme.test/.well-known/oauth-protected-resource/t/acme/mcp/linear"';
    expect(challengeFor('https://mcp.acme.test', route, refused, false)).toBe(`Bearer ${metadata}`);
    expect(challengeFor('https://mcp.acme.test', route, refused, true)).toBe(
      `Bearer error="invalid_token", ${metadata}`,
    );
    expect(challengeFor('https://mcp.acme.test', route, new ProxyError('insufficient_scope', 'No.'), true)).toBe(
      `Bearer error="insufficient_scope", ${metadata}`,
    );
  });

  it('is an address below the path of the public URL (RFC 9728 §3.1)', () => {
    for (const publicUrl of ['https://acme.test/base', 'https://acme.test/base/']) {
      expect(challengeFor(publicUrl, route, refused, false)).toContain(
        '"https://acme.test/.well-known/oauth-protected-resource/base/t/acme/mcp/linear"',
      );
    }
  });

  it('is told by the document of each route', () => {
    expect(resourceMetadata('https://acme.test', route, ['https://idp.test'])).toEqual({
      resource: 'https://acme.test/t/acme/mcp/linear',
      authorization_servers: ['https://idp.test'],
      bearer_methods_supported: ['header'],
      resource_name: 'Keybearer',
    });
    expect(resourceMetadata('https://acme.test', route, [])).not.toHaveProperty('authorization_servers');
  });
});
