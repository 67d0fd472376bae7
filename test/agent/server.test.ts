import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGatekeeper } from '../../src/agent/gatekeeper.ts';
import { type AgentServer, listenForAgents } from '../../src/agent/server.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { within } from '../support/within.ts';
import { until } from './a-door.ts';

let server: AgentServer | undefined;
const closers: (() => void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await server?.close();
  server = undefined;
});

interface Seen {
  readonly mcp: string[];
  readonly app: string[];
  /** Answers of MCP requests that wait. */
  readonly waiting: (() => void)[];
}

async function serve(): Promise<Seen> {
  const seen: Seen = { mcp: [], app: [], waiting: [] };
  server = await listenForAgents(
    {
      gatekeeper: createGatekeeper({
        publicUrl: () => server?.url ?? 'http://127.0.0.1',
        allowedHosts: undefined,
        allowedOrigins: undefined,
      }),
      sockets: { add: () => undefined },
      mcp: (request, response, { path }) => {
        seen.mcp.push(`${request.method} ${path}`);
        if (request.url?.includes('wait') === true) seen.waiting.push(() => response.end('late'));
        else response.end('mcp');
      },
      app: (request, response) => {
        seen.app.push(`${request.method} ${request.url}`);
        response.end('app');
      },
      clock: systemClock,
    },
    '127.0.0.1',
    0,
  );
  return seen;
}

function raw(text: string): {
  text: () => string;
  isOpen: () => boolean;
  isClosed: () => boolean;
  write: (more: string) => void;
} {
  const socket = connect(Number(new URL(server?.url ?? '').port), '127.0.0.1');
  let [all, isOpen, isClosed] = ['', false, false];
  socket.on('connect', () => (isOpen = true));
  socket.on('data', (chunk: Buffer) => (all += chunk.toString()));
  socket.on('close', () => (isClosed = true));
  socket.on('error', () => undefined);
  socket.write(text);
  closers.push(() => socket.destroy());
  return { text: () => all, isOpen: () => isOpen, isClosed: () => isClosed, write: (more) => void socket.write(more) };
}

const head = (line: string, more = ''): string => `${line} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

async function answered(text: string): Promise<string> {
  const { text: all } = raw(text);
  await until(() => /\r\n\r\n/.test(all()), 'an answer');
  return all();
}

describe('a request', () => {
  it('goes to MCP on its routes, and to the rest of the app otherwise', async () => {
    const seen = await serve();
    expect(await answered(head('GET /mcp/linear?x=1'))).toContain('mcp');
    expect(await answered(head('GET /admin/v1/tenants'))).toContain('app');
    expect(seen).toMatchObject({ mcp: ['GET /mcp/linear'], app: ['GET /admin/v1/tenants'] });
  });

  it.each([
    ['GET /mcp HTTP/1.1\r\n\r\n', 400],
    ['GET /mcp HTTP/1.1\r\nHost: evil.test\r\n\r\n', 403],
    [head('POST /mcp', 'Origin: https://evil.test\r\nContent-Length: 0\r\n'), 403],
    [head('GET /admin/v1/tenants', 'Origin: null\r\n'), 403],
    [head('OPTIONS /mcp', 'Origin: https://evil.test\r\n'), 403],
    [head('POST /connect/handoff', 'Origin: https://evil.test\r\n'), 403],
    [head('POST /connectx', 'Origin: null\r\n'), 403],
  ])('B311: reaches nobody with a wrong Host or Origin, MCP or not: %j', async (text, status) => {
    const seen = await serve();
    const answer = await answered(text);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(answer).toContain(`{"jsonrpc":"2.0","id":null,"error":{"code":${status},`);
    expect(seen).toMatchObject({ mcp: [], app: [] });
  });

  it.each(['/connect', '/connect/x', '/connect?tenant=a', '/connections', '/connections?x'])(
    'of a form on %s comes without an Origin to name, as pages without referrer send it',
    async (path) => {
      const seen = await serve();
      expect(await answered(head(`POST ${path}`, 'Origin: null\r\nContent-Length: 0\r\n'))).toContain('app');
      expect(seen.app).toEqual([`POST ${path}`]);
    },
  );

  it('B309: of an allowed Origin may be asked about before, and its answer read', async () => {
    const seen = await serve();
    const asked = await answered(
      head('OPTIONS /mcp', 'Origin: http://localhost:5173\r\nAccess-Control-Request-Method: POST\r\n'),
    );
    expect(asked).toContain('HTTP/1.1 204');
    expect(asked.toLowerCase()).toContain('access-control-allow-origin: http://localhost:5173');
    expect(asked.toLowerCase()).toContain('mcp-session-id');
    expect(seen.mcp).toEqual([]);
    expect(
      (await answered(head('POST /mcp', 'Origin: http://localhost:5173\r\nContent-Length: 0\r\n'))).toLowerCase(),
    ).toContain('access-control-expose-headers');
  });
});

describe('stopping', () => {
  it('B283: does not wait for connections that are idle', async () => {
    await serve();
    const idle = [raw(head('GET /mcp')), raw(head('GET /mcp'))];
    await until(() => idle.every(({ text }) => text().includes('mcp')), 'both answers');
    server?.stopAccepting();
    await within(server?.drained(5_000) ?? Promise.resolve(), 'the drain', 2_000);
    await until(() => idle.every(({ isClosed }) => isClosed()), 'both to be closed');
  });

  it('B283: does not wait for connections that never asked for anything', async () => {
    await serve();
    // Its request is half there: nobody but the one who opened it knows what was to come.
    const silent = [raw(''), raw('GET /mcp HTTP/1.1\r\nHost: 127')];
    await until(() => silent.every(({ isOpen }) => isOpen()), 'both to be open');
    // The server has seen the two when it has answered a third.
    expect(await answered(head('GET /mcp'))).toContain('mcp');
    server?.stopAccepting();
    await within(server?.drained(5_000) ?? Promise.resolve(), 'the drain', 2_000);
    await until(() => silent.every(({ isClosed }) => isClosed()), 'both to be closed');
  });

  it('B285: lets an answer that is under way get out, then closes its connection', async () => {
    const seen = await serve();
    const busy = raw(head('GET /mcp?wait'));
    await until(() => seen.waiting.length === 1, 'the request');
    server?.stopAccepting();
    const drained = server?.drained(5_000);
    await expect(Promise.race([drained, new Promise((resolve) => setImmediate(resolve, 'waits'))])).resolves.toBe(
      'waits',
    );
    seen.waiting[0]?.();
    await within(drained ?? Promise.resolve(), 'the drain');
    expect(busy.text()).toContain('late');
  });

  it('waits no longer than it was told to, and ends what is left', async () => {
    const seen = await serve();
    const busy = raw(head('GET /mcp?wait'));
    await until(() => seen.waiting.length === 1, 'the request');
    server?.stopAccepting();
    await within(server?.drained(50) ?? Promise.resolve(), 'the drain');
    await within(server?.close() ?? Promise.resolve(), 'the close');
    await until(() => busy.isClosed(), 'it to be closed');
  });
});
