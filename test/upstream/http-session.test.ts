import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isJsonObject } from '../../src/wire/reply.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { aHearing, none, textOf } from '../support/stdio/a-stdio-server.ts';
import { listen, readBody } from '../support/upstreams/listener.ts';
import { resultText } from '../support/upstreams/message.ts';
import { eventText, sendText, startEvents } from '../support/upstreams/responses.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';
import { anHttpServer, HttpBench, whileTimePasses } from './http-bench.ts';
import { call, toBad } from './http-calls.ts';

let bench: HttpBench;
beforeEach(() => {
  bench = new HttpBench();
});
afterEach(() => bench.close());

describe('a session of a legacy server', () => {
  it('B003: is named by every request after the first, and ends with a DELETE', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'echo');
    await connection.close();
    await connection.close();
    expect(server.counters.deletes).toBe(1);
    expect(server.sessions.size).toBe(0);
    const [, ...later] = server.seen.filter(({ headers }) => headers['mcp-protocol-version'] !== '2026-07-28');
    expect(
      later.every(
        ({ headers }) => headers['mcp-session-id'] !== undefined && headers['mcp-protocol-version'] === '2025-11-25',
      ),
    ).toBe(true);
  });

  it('B001: that is lost closes the connection, and says that nothing ran', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    let closes = 0;
    connection.onClose(() => closes++);
    server.restart();
    await expect(call(connection, 'echo')).rejects.toMatchObject({ name: 'SessionLostError', mayRetryNow: true });
    expect([connection.isClosed, closes, server.executed.size]).toEqual([true, 1, 0]);
    connection.onClose(() => closes++);
    expect(closes).toBe(2);
    // There is nothing to end any more.
    await connection.close();
    expect(server.counters.deletes).toBe(0);
  });

  it('B003: whose loss the listening stream notices first closes the connection as well', async () => {
    const server = await bench.keyed({ era: 'legacy' });
    const connection = await bench.dialed(anHttpServer(server.url));
    connection.listen(() => undefined);
    await server.until(() => server.counters.openStreams === 1);
    server.restart();
    await whileTimePasses(
      bench.clock,
      server.until(() => server.counters.unknownSessions > 0),
    );
    await within(
      (async () => {
        while (!connection.isClosed) await new Promise(setImmediate);
      })(),
      'the connection to close',
    );
  });

  it('B303: whose DELETE is not answered is over within two seconds all the same', async () => {
    const server = await bench.bad('healthy');
    const connection = await bench.dialed(anHttpServer(server.url));
    server.mode = 'hang';
    const closing = connection.close();
    await whileTimePasses(bench.clock, closing);
    expect(connection.isClosed).toBe(true);
  });

  it.each([
    ['nobody waits for it any more', '2025-11-25'],
    ['it speaks a version that nobody knows', '1999-01-01'],
  ])('is not left behind when it was opened and then %s', async (_, protocolVersion) => {
    const seen = new Watched();
    const [leaver, ended]: [AbortController, string[]] = [new AbortController(), []];
    const server = await listen((req, res) => {
      void readBody(req).then((text) => {
        const method = text === '' ? req.method : (JSON.parse(text) as { method: string }).method;
        if (method === 'initialize')
          sendText(
            res,
            200,
            `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"${protocolVersion}","capabilities":{}}}`,
            { 'mcp-session-id': 's1' },
          );
        else if (method === 'notifications/initialized') leaver.abort(new Error('left'));
        else if (method === 'DELETE') ended.push(String(req.headers['mcp-session-id']));
        else sendText(res, 404, '');
        seen.changed();
      });
    });
    try {
      await expect(bench.dial(anHttpServer(server.url), none, leaver.signal)).rejects.toThrow();
      await seen.until(() => ended.length === 1, 'the session to be ended');
      expect(ended).toEqual(['s1']);
    } finally {
      await server.close();
    }
  });

  it('B304: is listened to only after the handshake, and a server that offers no stream is asked once', async () => {
    const server = await bench.keyed({ era: 'legacy', listChanged: false });
    const connection = await bench.dialed(anHttpServer(server.url));
    expect(server.seen.some(({ http }) => http === 'GET')).toBe(false);
    const stop = connection.listen(() => undefined);
    await server.until(() => server.seen.some(({ http }) => http === 'GET'));
    for (let n = 0; n < 10; n++) {
      bench.clock.advance(60_000);
      await new Promise(setImmediate);
    }
    stop();
    expect(server.seen.filter(({ http }) => http === 'GET')).toHaveLength(1);
  });

  it("answers the server's own requests: ping at once, what no agent can be asked with a refusal", async () => {
    for (const [mode, expected] of [
      ['asks-ping', '{}'],
      ['asks-sampling', '-32601'],
      ['asks-elicitation', '-32601'],
      ['asks-roots', '-32601'],
    ] as const) {
      const { connection } = await toBad(bench, mode);
      const hearing = aHearing();
      const reply = await within(call(connection, 'echo', {}, { hearing }), 'the answer');
      expect(textOf(reply), mode).toContain(expected);
      expect(hearing.messages, mode).toEqual([]);
    }
  });
});

it('T27: of a flood of requests of a server sixteen are answered at a time, and its call goes on', async () => {
  const held: ServerResponse[] = [];
  const seen = new Watched();
  let finish = (): void => {};
  const server = await startScripted({
    onOther(message, _req, res) {
      // An answer to one of its requests, which it does not take yet.
      if (message === undefined || message.method !== undefined) return false;
      held.push(res);
      seen.changed();
      return true;
    },
    onCall({ res, id, nth }) {
      startEvents(res);
      const asks = nth === 1 ? 200 : 1;
      for (let n = 0; n < asks; n++) res.write(eventText(`{"jsonrpc":"2.0","id":"${nth}-${n}","method":"ping"}`));
      finish = () => res.end(eventText(resultText(id, '{"content":[{"type":"text","text":"done"}]}')));
    },
  });
  try {
    const connection = await bench.dialed(anHttpServer(server.url));
    const first = call(connection, 'act', {});
    await seen.until(() => held.length >= 16, 'the answers');
    finish();
    // What is behind the flood on the same stream has come, so the flood was read.
    expect(textOf(await within(first, 'the call'))).toBe('done');
    expect(held).toHaveLength(16);
    for (const res of held) res.writeHead(202).end();
    // The places are free again.
    for (let n = 0; held.length === 16 && n < 50; n++) {
      const next = call(connection, 'act', {});
      await server.until(() => server.calls === n + 2);
      finish();
      await within(next, 'the next call');
      await new Promise(setImmediate);
    }
    expect(held.length).toBeGreaterThan(16);
    for (const res of held.slice(16)) res.writeHead(202).end();
  } finally {
    await server.close();
  }
});

describe('a modern server', () => {
  it('reads in headers what the body says, name and arguments included', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'größe ü', {}, { name: 'größe ü' });
    await call(
      connection,
      'regional',
      { region: 'süd' },
      { name: 'regional', paramHeaders: [['mcp-param-region', '=?base64?c8O8ZA==?=']] },
    );
    const [first, second] = server.seen.filter(({ method }) => method === 'tools/call');
    expect(first?.headers).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-protocol-version': '2026-07-28',
      'mcp-name': '=?base64?Z3LDtsOfZSDDvA==?=',
    });
    expect(second?.headers).toMatchObject({ 'mcp-param-region': '=?base64?c8O8ZA==?=' });
    expect(server.executed.get('regional')).toBe(1);
  });

  it('is told per request what this agent can do', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    await call(connection, 'echo', {}, { name: 'echo', capabilities: { sampling: {} } });
    await call(connection, 'echo', {}, { name: 'echo' });
    const metas = server.seen
      .filter(({ method }) => method === 'tools/call')
      .map(({ body }) => (isJsonObject(body) && isJsonObject(body['params']) ? body['params']['_meta'] : undefined));
    expect(metas).toMatchObject([
      { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } },
      { 'io.modelcontextprotocol/clientCapabilities': {} },
    ]);
  });

  it('has no session to end', async () => {
    const server = await bench.keyed({ era: 'modern' });
    const connection = await bench.dialed(anHttpServer(server.url));
    let closes = 0;
    connection.onClose(() => closes++);
    await connection.close();
    await connection.close();
    expect([closes, connection.isClosed, server.seen.filter(({ http }) => http !== 'POST').length]).toEqual([
      1,
      true,
      0,
    ]);
  });
});
