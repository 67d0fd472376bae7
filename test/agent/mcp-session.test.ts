import { afterEach, describe, expect, it } from 'vitest';
import { SELF } from '../catalog/a-view.ts';
import { until } from './a-door.ts';
import { Bench, META, MODERN, request } from './an-endpoint.ts';

let bench: Bench;
const begin = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

describe('a session', () => {
  it('begins with initialize, in a version that both know', async () => {
    begin();
    const answered = await bench.post(request('initialize', { protocolVersion: '2025-06-18', capabilities: {} }, 'a'));
    expect(answered.headers['mcp-session-id']).toMatch(/^[\w-]{43}$/);
    expect(answered.json()).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: {}, completions: {}, logging: {} },
        serverInfo: SELF,
      },
    });
    expect((await bench.post(request('initialize', { protocolVersion: '1999-01-01' }))).json()).toMatchObject({
      result: { protocolVersion: '2025-11-25' },
    });
    expect((await bench.post(request('initialize', { protocolVersion: MODERN }))).json()).toMatchObject({
      result: { protocolVersion: '2025-11-25' },
    });
  });

  it('is needed for everything else, and belongs to its caller and path', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('ping'))).status).toBe(400);
    expect((await bench.post(request('ping'), session)).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    for (const [headers, path] of [
      [{ authorization: 'ben' }, '/mcp'],
      [{}, '/mcp/linear'],
      [{ 'mcp-session-id': 'x'.repeat(43) }, '/mcp'],
    ] as const) {
      const answered = await bench.post(request('ping'), { ...session, ...headers }, path);
      expect([answered.status, answered.json()['error']]).toEqual([
        404,
        { code: -32001, message: 'The session is not known; initialize again.' },
      ]);
    }
  });

  it('B305: speaks one version', async () => {
    begin();
    const session = await bench.session();
    expect((await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '2025-11-25' })).status).toBe(200);
    expect((await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '2025-06-18' })).status).toBe(400);
    expect(
      (await bench.post(request('ping'), { ...session, 'mcp-protocol-version': '1999-01-01' })).json(),
    ).toMatchObject({ error: { code: -32022 } });
  });

  it('takes notifications and answers with 202 and nothing', async () => {
    begin();
    const session = await bench.session();
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', method: 'made/up' },
    ]) {
      expect(await bench.post(message, session)).toMatchObject({ status: 202, text: '' });
    }
  });

  it('ends with DELETE, and is not known afterwards', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    expect((await door.request('DELETE', '/mcp', { authorization: 'ben', ...session })).status).toBe(404);
    expect((await door.request('DELETE', '/mcp', { authorization: 'anna', ...session })).status).toBe(204);
    expect((await bench.post(request('ping'), session)).status).toBe(404);
  });

  it('has one stream at a time: a new one ends the one before', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    const get = `GET /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\naccept: text/event-stream\r\nmcp-session-id: ${session['mcp-session-id']}\r\n\r\n`;
    const first = door.raw(get);
    await until(() => first.text().includes(': listening'), 'the first stream');
    const second = door.raw(get);
    await until(
      () => second.text().includes(': listening') && first.text().endsWith('0\r\n\r\n'),
      'the second in its place',
    );
    expect(bench.listeners.size).toBe(1);
    second.socket.destroy();
    await until(() => bench.listeners.size === 0, 'no stream');
    // It may be opened again, and idles in its time.
    bench.clock.advance(2 * 3_600_000);
    expect(bench.sessions.size).toBe(0);
  });

  it('B288, B301: gives its stream to anyone who takes events', async () => {
    begin();
    const session = await bench.session();
    const door = await bench.door();
    expect(
      (await door.request('GET', '/mcp', { authorization: 'anna', accept: 'application/json', ...session })).status,
    ).toBe(406);
    expect((await door.request('GET', '/mcp', { authorization: 'anna', accept: '*/*' })).status).toBe(400);
    expect((await door.request('GET', '/mcp', { authorization: 'anna', 'mcp-session-id': 'x' })).status).toBe(404);
  });
});

describe('listening without a session', () => {
  it('says first what of the wish is honoured, then what happens, and ends with an empty result', async () => {
    begin();
    const door = await bench.door();
    const body = JSON.stringify(
      request(
        'subscriptions/listen',
        { notifications: { toolsListChanged: true, promptsListChanged: true }, _meta: META },
        'l1',
      ),
    );
    const { text } = door.raw(
      `POST /mcp HTTP/1.1\r\nHost: x\r\nauthorization: anna\r\ncontent-type: application/json\r\nmcp-protocol-version: ${MODERN}\r\nmcp-method: subscriptions/listen\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => text().includes('acknowledged'), 'the acknowledgement');
    const meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}';
    expect(text()).toContain(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},${meta}}}`,
    );
    bench.listeners.close();
    await until(() => text().includes('"resultType":"complete"'), 'the end');
    expect(text()).toContain(`{"jsonrpc":"2.0","id":"l1","result":{"resultType":"complete",${meta}}}`);
  });

  it('wants to know for what, and is no GET', async () => {
    begin();
    expect((await bench.modern('subscriptions/listen', { notifications: 7 })).json()).toMatchObject({
      error: { code: -32602 },
    });
    for (const method of ['GET', 'DELETE']) {
      const answered = await (await bench.door()).request(method, '/mcp', {
        authorization: 'anna',
        'mcp-protocol-version': MODERN,
      });
      expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST']);
    }
  });
});
