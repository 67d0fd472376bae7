import { afterEach, describe, expect, it } from 'vitest';
import { settled } from '../catalog/a-tenant.ts';
import { until } from './a-door.ts';
import { Bench, JSON_BODY, request } from './an-endpoint.ts';

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

describe('before anything is read', () => {
  it('a sender without a credential is told where to get one, and nothing is processed', async () => {
    begin();
    const door = await bench.door();
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answered = await door.request(
        method,
        '/t/acme/mcp',
        { ...JSON_BODY, accept: '*/*' },
        method === 'POST' ? '{broken' : undefined,
      );
      expect([answered.status, answered.headers['www-authenticate']]).toEqual([
        401,
        'Bearer path="/t/acme/mcp", why="unauthenticated"',
      ]);
      expect(JSON.parse(answered.text)).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: 401, message: 'No credential.', data: { error: 'unauthenticated' } },
      });
    }
    expect((await bench.post(request('ping'), { authorization: 'weak' })).headers['www-authenticate']).toContain(
      'insufficient_scope',
    );
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
    expect([told.status, told.headers['connection'], told.json()['error']]).toMatchObject([
      413,
      'close',
      { code: -32600 },
    ]);
    const chunked = door.raw(
      'POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    for (let n = 0; n < 80; n++) chunked.socket.write(`10000\r\n${'y'.repeat(65_536)}\r\n`);
    await until(() => chunked.text().includes('413'), 'the refusal');
  });

  it('a node that stops takes nothing new, and says when to come again', async () => {
    begin().isStopping = true;
    const answered = await bench.post(request('ping'));
    expect([answered.status, answered.headers['retry-after'], answered.json()['error']]).toMatchObject([
      503,
      '1',
      { code: 503, data: { error: 'stopping' } },
    ]);
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
