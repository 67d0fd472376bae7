// The door itself: methods, Host, Origin, what browsers may read, and the pages beside MCP.
import { describe, expect, it } from 'vitest';
import { type Asked, askOver } from '../support/ask.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene({ http: { allowedOrigins: ['https://app.example'], allowedHosts: ['mcp.example'] } });

const ask = (asked: Partial<Asked>) => askOver(false, scene.app.url, { method: 'POST', path: '/mcp', ...asked });

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {} },
});

const good = async () => {
  const { key } = await scene.tenant();
  return { authorization: `Bearer ${key}`, 'keybearer-principal': 'ada', 'content-type': 'application/json' };
};

describe('Host and Origin', () => {
  it('B311: an Origin that is not allowed gets 403 on every route, before anything is read', async () => {
    const headers = await good();
    for (const origin of [
      'https://evil.test',
      'null',
      'https://app.example.evil.test',
      'https://app.example:8443',
      'http://localhost.evil.test',
      'file://',
      'https://app.example, https://evil.test',
    ]) {
      for (const asked of [
        { body: INITIALIZE },
        { method: 'GET' },
        { method: 'DELETE' },
        { method: 'OPTIONS' },
        { method: 'GET', path: '/admin/v1/tenants' },
        { method: 'GET', path: '/healthz' },
      ]) {
        const answer = await ask({ ...asked, headers: { ...headers, origin } });
        expect(answer.status, `${origin} ${JSON.stringify(asked)}`).toBe(403);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
  });

  it('an allowed Origin, our own, a loopback one and none are served', async () => {
    const headers = await good();
    expect((await ask({ body: INITIALIZE, headers })).status).toBe(200);
    for (const origin of [
      'https://app.example',
      scene.app.url,
      'http://localhost:3000',
      'http://127.0.0.1:5173',
      'http://[::1]:80',
    ]) {
      const answer = await ask({ body: INITIALIZE, headers: { ...headers, origin } });
      expect(answer.status, origin).toBe(200);
      expect(answer.headers['access-control-allow-origin']).toBe(origin);
    }
  });

  it('B309: scripts of an allowed origin can read challenge and session, also of refusals', async () => {
    const origin = 'https://app.example';
    const refused = await ask({ body: INITIALIZE, headers: { origin, 'content-type': 'application/json' } });
    expect(refused.status).toBe(401);
    const served = await ask({ body: INITIALIZE, headers: { ...(await good()), origin } });
    for (const { headers } of [refused, served]) {
      const exposed = String(headers['access-control-expose-headers']).toLowerCase();
      for (const name of ['mcp-session-id', 'www-authenticate', 'mcp-protocol-version', 'retry-after'])
        expect(exposed).toContain(name);
      expect(headers['vary']).toMatch(/origin/i);
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
    const preflight = await ask({ method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([204, 'POST, GET, DELETE']);
  });

  it('a foreign Host is refused, a missing one too', async () => {
    const headers = await good();
    for (const host of [
      'evil.test',
      '127.0.0.1.evil.test',
      'mcp.example.evil.test',
      '169.254.169.254',
      'localhost.evil:80',
    ]) {
      expect((await ask({ body: INITIALIZE, headers: { ...headers, host } })).status, host).toBe(403);
    }
    for (const host of ['mcp.example', 'MCP.example:443', 'localhost', 'localhost:1', '[::1]:80']) {
      expect((await ask({ body: INITIALIZE, headers: { ...headers, host } })).status, host).toBe(200);
    }
    const { port } = new URL(scene.app.url);
    const raw = await within(
      new Promise<string>((resolve) => {
        void import('node:net').then(({ connect }) => {
          const socket = connect(Number(port), '127.0.0.1', () =>
            socket.write('POST /mcp HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
          );
          let text = '';
          socket.on('data', (chunk) => (text += String(chunk)));
          socket.on('close', () => resolve(text));
        });
      }),
      'the refusal',
    );
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('B301: methods on the MCP routes', () => {
  it('that are not offered get 405 with Allow', async () => {
    const headers = await good();
    for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await ask({ method, headers });
      expect([answer.status, answer.headers['allow']], method).toEqual([405, 'POST, GET, DELETE']);
    }
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask({
        method,
        headers: { ...headers, 'mcp-protocol-version': '2026-07-28', accept: 'text/event-stream' },
      });
      expect([answer.status, answer.headers['allow']], method).toEqual([405, 'POST']);
    }
  });

  it('GET and DELETE want a session that is there', async () => {
    const headers = { ...(await good()), accept: 'text/event-stream' };
    for (const method of ['GET', 'DELETE']) {
      expect((await ask({ method, headers })).status, method).toBe(400);
      expect((await ask({ method, headers: { ...headers, 'mcp-session-id': 'x'.repeat(43) } })).status, method).toBe(
        404,
      );
      expect((await ask({ method, headers: { accept: 'text/event-stream' } })).status, `${method} by nobody`).toBe(401);
    }
  });

  it('B288: GET takes any Accept that a stream fits', async () => {
    const tenant = await scene.tenant();
    for (const accept of ['text/event-stream', '*/*', 'text/*', undefined]) {
      const agent = await tenant.raw('rawLegacy');
      const response = await agent.get({ accept });
      expect([response.status, response.headers['content-type']], String(accept)).toEqual([200, 'text/event-stream']);
      response.stream?.close();
    }
    expect((await (await tenant.raw('rawLegacy')).get({ accept: 'application/json' })).status).toBe(406);
  });
});

describe('beside MCP', () => {
  it('health, readiness and unknown addresses are answered', async () => {
    expect(await ask({ method: 'GET', path: '/healthz' })).toMatchObject({ status: 200 });
    expect(await ask({ method: 'GET', path: '/readyz' })).toMatchObject({ status: 200 });
    for (const path of ['/nothing', '/mcp/a/b', '/t/x', '/MCP', '/mcp%2fa', '/..%2f..%2fetc/passwd', '//mcp']) {
      const answer = await ask({ method: 'GET', path });
      expect([answer.status, answer.text.includes('node_modules')], path).toEqual([404, false]);
    }
  });

  it.each(RAW_KINDS)('a query and a trailing slash change nothing for %s', async (kind) => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(server) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/?x=1');
    expect((await agent.listTools()).tools.length).toBeGreaterThan(0);
  });
});
