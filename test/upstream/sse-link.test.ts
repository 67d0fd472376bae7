import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { anSseServer, OldSseBench } from '../support/old-sse-dial.ts';
import { anOldSseServer } from '../support/old-sse-server.ts';
import { aHearing, call, never, none, textOf, until } from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const bench = new OldSseBench();
afterEach(() => bench.close());

const answer = (id: number | undefined, text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });

describe('answers over HTTP+SSE', () => {
  it('arrive byte for byte, also members and digits that no schema knows', async () => {
    const result =
      '{"content":[{"type":"new kind","x":1}],"structuredContent":{"n":9007199254740993,"s":"\\ud800"},"later":true}';
    const server = await bench.served({
      onMessage: ({ id }, session) =>
        id !== undefined && session.event(`{"envelope":"extended","result":${result},"jsonrpc":"2.0","id":${id}}`),
    });
    const reply = await within(call(await bench.dialed(server.url), 'any'), 'the answer');
    expect(reply.bytes.toString()).toContain(result);
  });

  it('B116: never cross, also when they come in reverse order', async () => {
    const waiting: { id: number | undefined; text: string }[] = [];
    const server = await bench.served({
      onMessage: ({ id, params }, session) => {
        if (id === undefined) return;
        waiting.push({ id, text: String(params?.arguments?.['value']) });
        if (waiting.length === 4) for (const { id: of, text } of waiting.reverse()) session.event(answer(of, text));
      },
    });
    const connection = await bench.dialed(server.url);
    const replies = await Promise.all(['a', 'b', 'c', 'd'].map((value) => call(connection, 'echo', { value })));
    expect(replies.map(textOf)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('come with the progress of their own call in the words of the agent', async () => {
    const server = await bench.served({
      onMessage: ({ id, params }, session) => {
        if (id === undefined) return;
        session.event(
          JSON.stringify({
            jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken: params?._meta?.progressToken, progress: 1 },
          }),
        );
        session.event(answer(id, 'done'));
      },
    });
    const hearing = aHearing();
    await call(await bench.dialed(server.url), 'slow', {}, { hearing, progressToken: '"mine"' });
    expect(hearing.messages).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}',
    ]);
    expect(hearing.counts.flush).toBe(1);
  });

  it('B128: end the connection when one event never does', async () => {
    const server = await bench.served({
      onMessage: ({ method }, session) => {
        if (method === 'tools/call') for (let i = 0; i < 17; i++) session.write(`data: ${'x'.repeat(1024 * 1024)}\n`);
      },
    });
    const connection = await bench.dialed(server.url);
    await expect(within(call(connection, 'any'), 'the refusal')).rejects.toMatchObject({ code: 'upstream_protocol' });
    expect(connection.isClosed).toBe(true);
    await within(
      until(() => server.openStreams() === 0),
      'the stream to be closed',
    );
  });

  it('leave the sockets of their requests open for the next', async () => {
    const server = await bench.served({
      onMessage: ({ id }, session) => id !== undefined && session.event(answer(id, 'ok')),
    });
    const connection = await bench.dialed(server.url);
    for (let i = 0; i < 10; i++) await call(connection, 'any');
    const sockets = new Set(server.requests.map(({ socket }) => socket));
    expect(server.requests.length).toBeGreaterThan(10);
    expect(sockets.size).toBeLessThan(5);
  });

  it('B132: leave its own questions answered at once', async () => {
    const server = await bench.served({
      onMessage: ({ id, method }, session) => {
        if (method !== 'tools/call') return;
        session.event('{"jsonrpc":"2.0","id":1,"method":"ping"}');
        session.event('{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}');
        session.event(answer(id, 'done'));
      },
    });
    await call(await bench.dialed(server.url), 'any');
    await within(
      until(() => server.messages.filter(({ method }) => method === undefined).length === 2),
      'two answers',
    );
    const answers = server.messages
      .filter(({ method }) => method === undefined)
      .sort((a, b) => (a.id ?? 0) - (b.id ?? 0));
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ]);
  });
});

describe('an HTTP+SSE stream that ends', () => {
  it('fails the calls that wait at once, and is not opened again', async () => {
    const server = await bench.served({
      onMessage: ({ method }, session) => method === 'tools/call' && session.drop(),
    });
    const connection = await bench.dialed(server.url);
    let closed = 0;
    connection.onClose(() => (closed += 1));
    await expect(within(call(connection, 'any'), 'the call to fail')).rejects.toMatchObject({
      name: 'ProxyError',
      code: 'upstream_unavailable',
      message: expect.stringContaining('may have run') as string,
    });
    expect([connection.isClosed, closed]).toEqual([true, 1]);
    await expect(call(connection, 'any')).rejects.toMatchObject({ name: 'NotRunError' });
    // Longer than the pause after which an event source connects again.
    await systemClock.sleep(3_200);
    expect(server.requests.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  it('is closed by us without a trace', async () => {
    const server = await bench.served();
    const connection = await bench.dialed(server.url);
    await connection.close();
    await within(
      until(() => server.openStreams() === 0),
      'the stream to be closed',
    );
    expect(connection.isClosed).toBe(true);
  });

  it('is closed when the session is forgotten: that call did not run, those before it may have', async () => {
    const server = await bench.served({
      onPost: ({ params }, res) => params?.name === 'second' && (res.writeHead(404).end(), true),
    });
    const connection = await bench.dialed(server.url);
    const first = call(connection, 'first');
    const outcomes = await within(Promise.allSettled([first, call(connection, 'second')]), 'both to fail');
    expect(outcomes).toMatchObject([
      { reason: { name: 'ProxyError', code: 'upstream_unavailable' } },
      { reason: { name: 'SessionLostError' } },
    ]);
    expect(connection.isClosed).toBe(true);
  });
});

describe('an HTTP+SSE dial', () => {
  it('leaves nothing open when it is given up before the endpoint came', async () => {
    let isOpen = false;
    const server = await bench.served({
      onGet: (_, res) => {
        isOpen = true;
        res.on('close', () => (isOpen = false));
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return true;
      },
    });
    const stop = new AbortController();
    const dialing = bench.dial()(anSseServer(server.url), none, stop.signal);
    await within(
      until(() => isOpen),
      'the stream to open',
    );
    stop.abort(new Error('took too long'));
    await expect(within(dialing, 'the dial to end')).rejects.toThrow('took too long');
    await within(
      until(() => !isOpen),
      'the stream to be closed',
    );
  });

  it.each([
    [404, 'upstream_protocol'],
    [405, 'upstream_protocol'],
    [429, 'upstream_unavailable'],
    [503, 'upstream_unavailable'],
    [204, 'upstream_protocol'],
  ] as const)('says what a %i means', async (status, code) => {
    const server = await bench.served({ onGet: (_, res) => (res.writeHead(status).end(), true) });
    await expect(within(bench.dial()(anSseServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({
      code,
    });
  });

  it('says that nothing ran when nobody listens', async () => {
    const server = await anOldSseServer();
    await server.close();
    await expect(within(bench.dial()(anSseServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({
      name: 'NotRunError',
    });
  });

  it('says so when a page answers instead of a stream', async () => {
    const server = await bench.served({
      onGet: (_, res) => (res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), true),
    });
    await expect(within(bench.dial()(anSseServer(server.url), none, never()), 'the dial')).rejects.toMatchObject({
      code: 'upstream_protocol',
    });
  });
});

describe('cancelling over HTTP+SSE', () => {
  it('B030: tells the server at once with our id', async () => {
    const server = await bench.served();
    const connection = await bench.dialed(server.url);
    const leave = new AbortController();
    const left = call(connection, 'hang', {}, { signal: leave.signal });
    await within(
      until(() => server.messages.some(({ method }) => method === 'tools/call')),
      'the call',
    );
    leave.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await within(
      until(() => server.messages.some(({ method }) => method === 'notifications/cancelled')),
      'the cancel',
    );
    const id = server.messages.find(({ method }) => method === 'tools/call')?.id;
    expect(server.messages.find(({ method }) => method === 'notifications/cancelled')?.params).toEqual({
      requestId: id,
      reason: 'cancelled',
    });
  });
});

describe('the transport of the first SDK, as an independent peer', () => {
  it('lists and calls a tool', async () => {
    let transport: SSEServerTransport | undefined;
    const mcp = new McpServer({ name: 'peer', version: '1' });
    mcp.registerTool('hello', { description: 'says hello' }, () => ({ content: [{ type: 'text', text: 'hello' }] }));
    const server = createServer((req, res) => {
      if (req.method === 'POST') void transport?.handlePostMessage(req, res);
      else void mcp.connect((transport = new SSEServerTransport('/messages', res)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    bench.later(async () => {
      server.closeAllConnections();
      server.close();
    });
    const connection = await bench.dialed(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(
      (await connection.request({ method: 'tools/list', params: undefined, signal: never() })).bytes.toString(),
    ).toContain('"hello"');
    expect(textOf(await call(connection, 'hello'))).toBe('hello');
  });
});
