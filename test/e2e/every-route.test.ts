// What browsers are told with every answer, on every route that is mounted: the list is read from the app itself.

import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/admin/openapi.ts';
import { createHttpApp } from '../../src/agent/http.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Asked, createAsker } from '../support/ask.ts';
import { anyNumber } from '../support/limits.ts';
import { addressOf, type MountedRoute, routesOf, watchApps } from '../support/mounted-routes.ts';

const POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const STRICT: Readonly<Record<string, string | undefined>> = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000',
  'cache-control': 'no-store',
  'x-powered-by': undefined,
  server: undefined,
  etag: undefined,
};

/** What may be kept, as it is the same for all. */
const KEPT: Readonly<Record<string, string>> = {
  '/connect.css': 'public, max-age=3600',
  '/oauth/client-metadata.json': 'public, max-age=3600',
  '/oauth/client-metadata/:file': 'public, max-age=3600',
  '/oauth/jwks.json': 'public, max-age=3600',
  '/.well-known/oauth-protected-resource{/*route}': 'max-age=60',
};

/** Beside the admin API. A new one is looked at below by itself, and has to be named here. */
const PLACES = [
  'GET /healthz',
  'GET /readyz',
  'GET /.well-known/oauth-protected-resource{/*route}',
  'GET /oauth/client-metadata.json',
  'GET /oauth/client-metadata/:file',
  'GET /oauth/jwks.json',
  'GET /connect.css',
  'GET /connect',
  'POST /connect',
  'GET /connections',
  'POST /connections',
  'POST /connect/sign-out',
  'GET /connect/callback/:tenant',
  'GET /connect/return',
  'POST /connect/handoff',
  'GET /connect/done/:id',
  'GET /oauth/callback/:context',
  'GET /connect/:ticket',
  'POST /connect/:ticket',
  'GET /',
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

const asker = createAsker(() => app.url);
const { ask } = asker;
let app: TestApp;
let routes: readonly MountedRoute[];

const asOperator = () => ({ authorization: `Bearer ${app.adminKey}`, 'content-type': 'application/json' });
const strictOf = (headers: http.IncomingHttpHeaders) =>
  Object.fromEntries(Object.keys(STRICT).map((name) => [name, headers[name]]));

beforeAll(async () => {
  let seen: readonly MountedRoute[] | undefined;
  const unwatch = watchApps(({ router }) => (seen ??= routesOf(router)));
  try {
    app = await startTestApp({ http: { publicUrl: 'https://kb.example' }, allowLinkSignIn: true });
    await app.tenant('acme');
    await app.tenant('walked');
  } finally {
    unwatch();
  }
  if (seen === undefined) throw new Error('No app was asked');
  routes = seen;
});
afterAll(async () => {
  asker.close();
  await app.stop();
});

describe('T25: every route', () => {
  it('is known: those of the admin API from its document, the others by name', () => {
    const named = routes
      .filter(({ path, methods }) => !path.startsWith('/admin/v1') && methods.length > 0)
      .flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`));
    expect(named).toEqual(PLACES);
    const paths = Object.keys(openApiDocument['paths'] as object);
    const mounted = routes.flatMap(({ path }) =>
      path.startsWith('/admin/v1/') ? [path.slice('/admin/v1'.length)] : [],
    );
    expect(new Set(mounted.map((path) => path.replaceAll(/:(\w+)/g, '{$1}')))).toEqual(new Set(paths));
    // Parts that answer by themselves would be here too.
    const parts = routes.filter(({ methods }) => methods.length === 0);
    expect(new Set(parts.map(({ path }) => path))).toEqual(
      new Set(['/connect', '/connections', '/connect.css', '/oauth/callback']),
    );
  });

  it('answers with the strict headers, to whatever method and whoever asks', async () => {
    let answers = 0;
    for (const route of routes) {
      // One that may be deleted on the way.
      const path = addressOf(route, { tenant: 'walked', file: `${'A'.repeat(22)}.json` });
      for (const method of METHODS)
        for (const headers of path.startsWith('/admin/') ? [{}, asOperator()] : [{}]) {
          const { status, headers: told } = await ask({ path, method, headers });
          const isKept = status === 200 && (method === 'GET' || method === 'HEAD') ? KEPT[route.path] : undefined;
          expect(strictOf(told), `${method} ${path} ${status}`).toEqual({
            ...STRICT,
            ...(isKept === undefined ? {} : { 'cache-control': isKept }),
          });
          answers++;
        }
    }
    expect(answers).toBeGreaterThan(400);
  });

  it('answers with them to addresses that are nowhere, broken, or too long', async () => {
    for (const asked of [
      { path: '/nothing' },
      { path: '/connect/%E0%A4%A' },
      { path: '/admin' },
      { path: '/admin/v1/%E0%A4%A' },
      { path: '/oauth/client-metadata/%E0%A4%A' },
      { path: '/.well-known/oauth-protected-resource/%E0%A4%A' },
      { path: '/.well-known/openid-configuration' },
      { path: `/connect/${'x'.repeat(8_000)}` },
      {
        method: 'POST',
        path: '/connect',
        body: 'x'.repeat(20_000),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      { method: 'POST', path: '/admin/v1/tenants', body: '{ not json', headers: asOperator() },
      { method: 'POST', path: '/connect/handoff', body: '{ not json', headers: { 'content-type': 'application/json' } },
    ]) {
      const { status, headers } = await ask(asked);
      expect(status, asked.path).toBeGreaterThanOrEqual(400);
      expect(status, asked.path).toBeLessThan(500);
      expect(strictOf(headers), asked.path).toEqual(STRICT);
    }
  });

  it('answers with them when something breaks inside', async () => {
    const broken = createHttpApp({
      publicUrl: () => 'https://kb.example',
      issuersOf: () => Promise.reject(new Error('down')),
      strangers: anyNumber,
      clients: { of: () => '127.0.0.1' },
      isReady: () => Promise.reject(new Error('down')),
      admin: (await import('express')).Router(),
      pages: [],
      logger: createLogger('silent'),
    });
    const server = http.createServer(broken);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    try {
      const port = typeof address === 'object' ? address?.port : 0;
      for (const path of ['/readyz', '/.well-known/oauth-protected-resource']) {
        const response = await fetch(`http://127.0.0.1:${port}${path}`);
        expect(response.status).toBe(500);
        expect(strictOf(Object.fromEntries(response.headers)), path).toEqual(STRICT);
        expect(await response.text()).toBe('{"error":"internal","message":"Something went wrong inside the proxy."}');
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('tells of https only where the public address is one', async () => {
    const plain = await startTestApp();
    try {
      const { headers } = await fetch(`${plain.url}/connect`);
      expect(headers.get('content-security-policy')).toBe(POLICY);
      expect(headers.get('strict-transport-security')).toBeNull();
    } finally {
      await plain.stop();
    }
  });
});

describe('T25: the MCP routes', () => {
  it('let nothing be taken for a page, and nothing be kept', async () => {
    const key = await app.agentKey('acme');
    const json = { 'content-type': 'application/json' };
    const mine = { ...json, authorization: `Bearer ${key}`, 'keybearer-principal': 'ada' };
    const rpc = (method: string, id?: number) =>
      JSON.stringify({
        jsonrpc: '2.0',
        method,
        ...(id === undefined ? {} : { id, params: { protocolVersion: '2025-11-25', capabilities: {} } }),
      });
    const began = await ask({ method: 'POST', path: '/mcp', headers: mine, body: rpc('initialize', 1) });
    const session = { ...mine, 'mcp-session-id': String(began.headers['mcp-session-id']) };
    const answers: readonly (readonly [number, Asked])[] = [
      [401, { method: 'POST', path: '/mcp', headers: json, body: rpc('initialize', 1) }],
      [401, { path: '/t/acme/mcp/notes', headers: { accept: 'text/event-stream' } }],
      [403, { path: '/mcp', headers: { origin: 'https://evil.example' } }],
      [403, { path: '/connect', headers: { host: 'evil.example' } }],
      [405, { method: 'PUT', path: '/t/acme/mcp' }],
      [405, { method: 'HEAD', path: '/mcp/notes' }],
      [406, { path: '/mcp', headers: { accept: 'text/html' } }],
      [415, { method: 'POST', path: '/mcp', headers: { ...mine, 'content-type': 'text/plain' }, body: rpc('ping', 2) }],
      [400, { method: 'POST', path: '/mcp', headers: mine, body: 'not json' }],
      [200, { method: 'POST', path: '/mcp', headers: session, body: rpc('tools/list', 3) }],
      [
        200,
        {
          method: 'POST',
          path: '/mcp',
          headers: { ...session, accept: 'text/event-stream' },
          body: rpc('tools/list', 4),
        },
      ],
      [202, { method: 'POST', path: '/mcp', headers: session, body: rpc('notifications/initialized') }],
      [204, { method: 'DELETE', path: '/mcp', headers: session }],
    ];
    expect(began.status).toBe(200);
    const told = [began];
    for (const [status, asked] of answers) {
      const answer = await ask(asked);
      expect(answer.status, `${asked.method} ${asked.path} ${answer.text}`).toBe(status);
      told.push(answer);
    }
    for (const { headers, status } of told) {
      expect(headers['x-content-type-options'], String(status)).toBe('nosniff');
      expect(headers['cache-control'], String(status)).toMatch(/^no-store(?:, no-transform)?$/);
      expect([headers['x-powered-by'], headers['server']]).toEqual([undefined, undefined]);
    }
  });
});

describe('T25: what was asked is what is done', () => {
  it.each(['x-http-method-override', 'x-http-method', 'x-method-override'])('whatever %s says', async (name) => {
    for (const method of ['GET', 'POST']) {
      const headers = { ...asOperator(), [name]: 'DELETE' };
      const answer = await ask({
        method,
        path: '/admin/v1/tenants/acme?_method=DELETE',
        headers,
        ...(method === 'GET' ? {} : { body: '{"_method":"DELETE"}' }),
      });
      expect(answer.status, method).toBe(method === 'GET' ? 200 : 405);
    }
    expect((await ask({ path: '/admin/v1/tenants/acme', headers: asOperator() })).status).toBe(200);
  });

  it('HEAD tells what GET does, without a body', async () => {
    for (const { path, methods } of routes.filter(({ methods: known }) => known.includes('GET'))) {
      const address = addressOf({ path, methods }, { tenant: 'acme' });
      const [get, head] = [await ask({ path: address }), await ask({ path: address, method: 'HEAD' })];
      expect([head.status, head.text], address).toEqual([get.status, '']);
    }
  });
});

describe('T25: the admin API', () => {
  it('lets nobody in by a cookie, on any route', async () => {
    const cookie = ['kb_session', '__Host-kb_session', 'authorization', 'token', 'key']
      .map((name) => `${name}=${app.adminKey}`)
      .join('; ');
    const mounted = routes.filter(({ path, methods }) => path.startsWith('/admin/v1/') && methods.length > 0);
    expect(mounted.length).toBeGreaterThan(20);
    for (const route of mounted) {
      if (route.path === '/admin/v1/openapi.json') continue;
      for (const method of route.methods.filter((one) => one !== 'ALL')) {
        const asked = { method, path: addressOf(route, { tenant: 'acme' }), headers: { cookie } };
        expect((await ask(asked)).status, `${method} ${asked.path}`).toBe(401);
      }
    }
  });
});
