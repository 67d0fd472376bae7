import http from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { type Shim, startShim } from '../../conformance/shim.ts';
import { type Listener, listen, readBody } from '../support/upstreams/listener.ts';

const opened: (Listener | Shim)[] = [];
afterEach(async () => {
  for (const { close } of opened.splice(0).reverse()) await close();
});

async function shimBefore(handle: http.RequestListener): Promise<URL> {
  const server = await listen(handle);
  opened.push(server);
  const shim = await startShim(`${new URL(server.url).origin}/mcp/fixture`, 'kb_test');
  opened.push(shim);
  return new URL(shim.url);
}

it('adds the key, and changes nothing else of what is asked and answered', async () => {
  const url = await shimBefore((req, res) => {
    const { host, origin, authorization } = req.headers;
    const isRaw = req.rawHeaders.includes('MCP-METHOD');
    res.writeHead(404, { 'mcp-session-id': 'a-session' });
    void readBody(req).then((body) =>
      res.end(JSON.stringify({ host, origin, authorization, isRaw, url: req.url, body })),
    );
  });
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const headers = { Host: 'evil.example.com', Origin: 'http://evil.example.com', 'MCP-METHOD': 'ping' };
    const request = http.request(url, { method: 'POST', headers }, resolve);
    request.on('error', reject);
    request.end('{"a":1}');
  });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers['mcp-session-id']).toBe('a-session');
  expect(JSON.parse(await readBody(answer))).toEqual({
    host: 'evil.example.com',
    origin: 'http://evil.example.com',
    authorization: 'Bearer kb_test',
    isRaw: true,
    url: '/mcp/fixture',
    body: '{"a":1}',
  });
});

it('passes on each event as it comes, and tells the server when its reader has gone', async () => {
  let gone: () => void = () => undefined;
  const isGone = new Promise<void>((resolve) => (gone = resolve));
  const url = await shimBefore((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: 1\n\n');
    res.once('close', gone);
  });
  const reading = new AbortController();
  const answer = await fetch(url, { signal: reading.signal });
  const { value } = await (answer.body?.getReader().read() ?? { value: undefined });
  expect(Buffer.from(value ?? []).toString()).toBe('data: 1\n\n');
  reading.abort();
  await isGone;
});

it('breaks off an answer that the server breaks off', async () => {
  const url = await shimBefore((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: 1\n\n', () => res.destroy());
  });
  const answer = await fetch(url);
  await expect(answer.text()).rejects.toThrow();
});
