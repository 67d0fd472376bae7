import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { anSseServer, OldSseBench } from '../support/old-sse-dial.ts';
import { call, credentialOf, never, none, secretSpec, textOf } from '../support/stdio/a-stdio-server.ts';
import { Watched } from '../support/upstreams/watched.ts';
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

  it('is where messages go, however the endpoint is written', async () => {
    const paths: (string | undefined)[] = [];
    const endpoint = '/message?a=b c\ndata: &x=é\ndata: ';
    const server = await bench.served({ endpoint });
    await bench.dialed(server.url);
    for (const { method, url } of server.requests) if (method === 'POST') paths.push(url);
    expect(new Set(paths)).toEqual(new Set(['/message?a=b%20c&x=%C3%A9']));
  });

  it('may be kept by a redirect of the stream', async () => {
    const server = await bench.served({
      onGet: (req, res) => req.url === '/sse' && (res.writeHead(307, { location: '/sse/' }).end(), true),
    });
    expect((await bench.dialed(server.url)).era).toBe('legacy');
  });
});

describe('the event stream of HTTP+SSE', () => {
  it('is asked for without any coding, as all else, and refused in one', async () => {
    const server = await bench.served();
    await bench.dialed(server.url);
    expect(server.requests.length).toBeGreaterThanOrEqual(2);
    for (const { headers } of server.requests) expect(headers['accept-encoding']).toBe('identity');
    const packing = await bench.served({
      onGet: (_, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        res.write(gzipSync('event: endpoint\ndata: /message\n\n'));
        return true;
      },
    });
    await expect(within(bench.dial()(anSseServer(packing.url), none, never()), 'the dial')).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringContaining('coding') as string,
    });
    expect(packing.messages).toEqual([]);
  });

  it('is read no faster than any other', async () => {
    const clock = new FakeClock();
    const notice = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
    const server = await bench.served({ onMessage: (_, session) => session.write(notice.repeat(30_000)) });
    const connection = await within(bench.dial(clock)(anSseServer(server.url), none, never()), 'the dial');
    bench.later(() => connection.close());
    const heard = new Heard();
    connection.listen?.(() => heard.one());
    void call(connection, 'any').catch(() => undefined);
    await heard.until(() => heard.events > 200, 'the first events');
    await heard.untilStill();
    const paced = heard.events;
    expect(paced).toBeLessThan(1_000);
    clock.advance(100);
    await heard.until(() => heard.events > paced, 'more events');
  });
});

class Heard extends Watched {
  events = 0;

  one(): void {
    this.events++;
    this.changed();
  }

  async untilStill(): Promise<void> {
    for (let before = -1; before !== this.events; ) {
      before = this.events;
      for (let n = 0; n < 100; n++) await new Promise(setImmediate);
    }
  }
}
