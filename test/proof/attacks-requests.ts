// What a hostile agent may send, or leave unread.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { ScriptedCall } from '../support/scripted-upstream.ts';
import { resultText } from '../support/upstreams/message.ts';

interface RequestAttack {
  /** What the agent's server answers meanwhile; undefined for what it always does. */
  readonly answer?: (call: ScriptedCall) => void;
  make(url: URL, headers: Readonly<Record<string, string>>, agent: RawAgent): Promise<void>;
}

const deep = (levels: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"modern__act","arguments":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}}`;
const HELD = 50;
const READERS = 4;
/** How long it lasts. */
const LASTS_MS = 1_000;

async function refused(agent: RawAgent, body: string): Promise<void> {
  for (let nth = 0; nth < 5; nth++) {
    const response = await agent.post(body, { 'mcp-method': 'tools/call', 'mcp-name': 'modern__act' });
    expect(response.status).toBe(400);
    await response.answer();
  }
}

async function dial(url: URL): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const lasting = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** So many sockets, told something now and then until it is over. */
async function dripping(url: URL, head: string, drop: string): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: HELD }, () => dial(url)));
  for (const socket of sockets) socket.write(head);
  const timer = setInterval(() => {
    for (const socket of sockets) socket.write(drop);
  }, 20);
  await lasting(LASTS_MS);
  clearInterval(timer);
  for (const socket of sockets) socket.destroy();
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries({ ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

const LONG = `{"resultType":"complete","content":[{"type":"text","text":"${'x'.repeat(15_000_000)}"}]}`;

export const REQUESTS: Readonly<Record<string, RequestAttack>> = {
  'a request 200,000 levels deep': { make: (_url, _headers, agent) => refused(agent, deep(200_000)) },
  'a request 1,900,000 levels deep': { make: (_url, _headers, agent) => refused(agent, deep(1_900_000)) },
  'a request of a million members': {
    make: (_url, _headers, agent) =>
      refused(
        agent,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"modern__act","arguments":{${Array.from({ length: 300_000 }, (_, nth) => `"k${nth}":1`).join(',')}}}}`,
      ),
  },
  'header lines now and then': {
    make: (url) => dripping(url, 'POST /mcp HTTP/1.1\r\nhost: x\r\n', 'x: y\r\n'),
  },
  'a body now and then': {
    make: (url, headers) =>
      dripping(url, `POST /mcp HTTP/1.1\r\nhost: x\r\n${linesOf(headers)}content-length: 100000\r\n\r\n`, ' '),
  },
  'readers who read nothing': {
    answer: ({ res, id }) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(resultText(id, LONG));
    },
    make: async (url, headers, agent) => {
      const sockets = await Promise.all(Array.from({ length: READERS }, () => dial(url)));
      for (const socket of sockets) {
        socket.pause();
        const { body, headers: own } = agent.compose('tools/call', { name: 'modern__act', arguments: {} });
        const text = JSON.stringify(body);
        const lines = linesOf({ ...headers, 'mcp-protocol-version': '2026-07-28', ...(own as Record<string, string>) });
        socket.write(`POST /mcp HTTP/1.1\r\nhost: x\r\n${lines}content-length: ${text.length}\r\n\r\n${text}`);
      }
      await lasting(LASTS_MS);
      for (const socket of sockets) socket.destroy();
    },
  },
};
