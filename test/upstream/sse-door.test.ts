import { afterEach, describe, expect, it } from 'vitest';
import { anSseServer, OldSseBench } from '../support/old-sse-dial.ts';
import { call, credentialOf, never, none, secretSpec, textOf } from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const bench = new OldSseBench();
afterEach(() => bench.close());

const answer = (id: number | undefined, text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });

describe('the identity of HTTP+SSE requests', () => {
  it('stands on the stream and on every POST, the credential above a static header of its name', async () => {
    const server = await bench.served({
      onMessage: ({ id }, session) => id !== undefined && session.event(answer(id, 'ok')),
    });
    const connection = await bench.dial()(
      anSseServer(server.url, { 'x-team': 'core', authorization: 'static' }),
      credentialOf('ann', 'key-of-ann'),
      never(),
    );
    bench.later(() => connection.close());
    await call(connection, 'any');
    expect(server.requests.length).toBeGreaterThanOrEqual(4);
    for (const { headers } of server.requests)
      expect(headers).toMatchObject({ 'x-team': 'core', authorization: 'Bearer key-of-ann' });
  });

  it('has a bare value when no scheme is set', async () => {
    const server = await bench.served();
    const connection = await bench.dial()(
      anSseServer(server.url, {}, secretSpec({ header: 'x-api-key', scheme: '' })),
      credentialOf('ann', 'key'),
      never(),
    );
    bench.later(() => connection.close());
    for (const { headers } of server.requests) expect(headers['x-api-key']).toBe('key');
  });

  it.each([401, 403] as const)('is said to be refused by a %i on the stream', async (status) => {
    const server = await bench.served({
      onGet: (_, res) => (res.writeHead(status, { 'www-authenticate': 'Bearer realm="x"' }).end(), true),
    });
    await expect(within(bench.dial()(anSseServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({
      code: 'credential_refused',
      status,
      challenge: 'Bearer realm="x"',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is said to be refused by a 401 on a POST, and only that call fails', async () => {
    let refuse = false;
    const server = await bench.served({
      onPost: (_, res) => refuse && (res.writeHead(401).end(), true),
      onMessage: ({ id }, session) => id !== undefined && session.event(answer(id, 'ok')),
    });
    const connection = await bench.dialed(server.url);
    refuse = true;
    await expect(call(connection, 'any')).rejects.toMatchObject({ code: 'credential_refused', status: 401 });
    refuse = false;
    expect(textOf(await call(connection, 'any'))).toBe('ok');
  });
});

describe('the origin of an HTTP+SSE server', () => {
  it('is never left by the endpoint it names', async () => {
    const other = await bench.served();
    const server = await bench.served({ endpoint: other.url.replace('/sse', '/message') });
    await expect(
      within(bench.dial()(anSseServer(server.url), credentialOf('ann', 'key'), never()), 'the dial'),
    ).rejects.toMatchObject({ code: 'upstream_protocol', message: expect.stringContaining('origin') as string });
    expect(other.requests).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])('is never left by a %i of the stream or of a POST', async (status) => {
    const other = await bench.served();
    const getting = await bench.served({
      onGet: (_, res) => (res.writeHead(status, { location: other.url }).end(), true),
    });
    await expect(within(bench.dial()(anSseServer(getting.url), none, never()), 'the dial')).rejects.toMatchObject({
      code: 'upstream_protocol',
    });
    const posting = await bench.served({
      onPost: (_, res) => (res.writeHead(status, { location: other.url }).end(), true),
    });
    await expect(within(bench.dial()(anSseServer(posting.url), none, never()), 'the dial')).rejects.toMatchObject({
      code: 'upstream_protocol',
    });
    expect(other.requests).toEqual([]);
  });

  it('may be kept by a redirect of the stream', async () => {
    const server = await bench.served({
      onGet: (req, res) => req.url === '/sse' && (res.writeHead(307, { location: '/sse/' }).end(), true),
    });
    expect((await bench.dialed(server.url)).era).toBe('legacy');
  });
});
