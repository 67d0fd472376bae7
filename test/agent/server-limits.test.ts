// Connections that ask for nothing, or too slowly, are closed; and there are only so many.
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGatekeeper } from '../../src/agent/gatekeeper.ts';
import { readBody } from '../../src/agent/read-body.ts';
import { type AgentServer, type AgentServerLimits, listenForAgents } from '../../src/agent/server.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from './a-door.ts';

const LIMITS: AgentServerLimits = {
  headersTimeout: 100,
  requestTimeout: 200,
  connectionsCheckingInterval: 20,
  maxConnections: 5,
};
const POST = 'POST /mcp HTTP/1.1\r\nhost: a\r\n';

let server: AgentServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
});

async function serve(limits: AgentServerLimits = LIMITS): Promise<void> {
  server = await listenForAgents(
    {
      gatekeeper: createGatekeeper({
        publicUrl: () => server?.url ?? 'http://127.0.0.1',
        allowedHosts: ['a'],
        allowedOrigins: undefined,
      }),
      sockets: { add: () => undefined },
      mcp: (request, response) => readBody(request, (body) => response.end(body.kind)),
      app: (_request, response) => response.end('app'),
      clock: systemClock,
      limits,
    },
    '127.0.0.1',
    0,
  );
}

function open(text: string): { readonly socket: Socket; said: string; isClosed: boolean } {
  const socket = connect(Number(new URL(server?.url ?? '').port), '127.0.0.1');
  const seen = { socket, said: '', isClosed: false };
  socket.on('data', (chunk: Buffer) => (seen.said += chunk.toString()));
  socket.on('error', () => undefined);
  socket.on('close', () => (seen.isClosed = true));
  if (text !== '') socket.write(text);
  sockets.push(socket);
  return seen;
}

/** A byte now and then, for as long as the connection is open. */
function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 10);
  socket.on('close', () => clearInterval(timer));
}

describe('a connection', () => {
  it('that asks for nothing is closed in time', async () => {
    await serve();
    const idle = open('');
    await until(() => idle.isClosed, 'the end of it');
    expect(idle.said).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('whose header lines come now and then is closed in time', async () => {
    await serve();
    const slow = open(POST);
    drip(slow.socket, 'x-a: b\r\n');
    await until(() => slow.isClosed, 'the end of it');
    expect(slow.said).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('whose body comes now and then is closed in time', async () => {
    await serve();
    const slow = open(`${POST}content-length: 1000\r\n\r\n`);
    drip(slow.socket, 'x');
    await until(() => slow.isClosed, 'the end of it');
    expect(slow.said).not.toContain('read');
  });

  it('over the number is not taken, and takes the place of one that ended', async () => {
    await serve({ ...LIMITS, headersTimeout: 10_000, requestTimeout: 30_000 });
    const all = Array.from({ length: 5 }, () => open(''));
    await until(() => all.every(({ socket }) => !socket.connecting), 'all to be open');
    const good = open(`${POST}content-length: 0\r\n\r\n`);
    await until(() => good.isClosed, 'the sixth to be refused');
    expect(good.said).toBe('');
    all[0]?.socket.end(`${POST}content-length: 0\r\nconnection: close\r\n\r\n`);
    await until(() => all[0]?.isClosed === true, 'the first to end');
    expect(all[0]?.said).toContain('200 OK');
    const next = open(`${POST}content-length: 0\r\n\r\n`);
    await until(() => next.said.endsWith('read'), 'the next to be answered');
    expect(all.slice(1).map(({ isClosed }) => isClosed)).toEqual([false, false, false, false]);
  });
});

describe('requests in one go', () => {
  it('are answered in their order', async () => {
    await serve();
    const one = `${POST}content-length: 2\r\n\r\n{}`;
    const all = open(one.repeat(200));
    await until(() => all.said.split('HTTP/1.1 200 OK').length === 201, 'two hundred answers');
  });
});
