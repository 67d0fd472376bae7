// A fast made-up MCP server under many names, in both eras. It takes each person's token only at its own
// server and in its own person's session, and says in every answer whom it is for.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { personOf, SERVERS, serverName, TOOLS_PER_SERVER } from './people.mjs';

const MODERN = '2026-07-28';
const OPEN = '"capabilities":{"tools":{}},"serverInfo":{"name":"bench-upstream","version":"1"}';
const LINE = 'The quick brown fox said \\"jump\\", 0123456789 times é.\\n';
const sessions = new Map();
const memory = new Map();

function remembered(key, make) {
  if (!memory.has(key)) memory.set(key, make());
  return memory.get(key);
}

const padding = (bytes) => remembered(bytes, () => LINE.repeat(bytes / LINE.length).padEnd(bytes, 'x'));

const toolNames = ['echo', 'progress', ...Array.from({ length: TOOLS_PER_SERVER - 2 }, (_, i) => `tool_${i}`)];
const inputSchema = { type: 'object', properties: { n: { type: 'string' }, size: { type: 'integer' } } };
const toTool = (name) => JSON.stringify({ name, description: 'x'.repeat(250), inputSchema });
const listOf = (prefixes) => prefixes.flatMap((prefix) => toolNames.map((name) => toTool(prefix + name))).join(',');
const oneList = listOf(['']);
const allLists = listOf(Array.from({ length: SERVERS }, (_, j) => `${serverName(j)}__`));

function send(response, status, text, headers) {
  const body = Buffer.from(text);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
  response.end(body);
}

function sendProgress(response, progressToken, total, answer) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let progress = 0;
  const step = () => {
    if (response.destroyed) return;
    if (progress++ === total) return response.end(`event: message\ndata: ${answer}\n\n`);
    const params = JSON.stringify({ progressToken, progress, total, message: 'one step further' });
    response.write(`event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n\n`);
    setImmediate(step);
  };
  step();
}

function answer(request, response, { id, method, params }, server, who) {
  const isModern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] === MODERN;
  const whose = `${server} ${who}`;
  const messageWith = (members) =>
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${isModern ? '"resultType":"complete",' : ''}${members}}}`;
  const result = (members, headers) => send(response, 200, messageWith(members), headers);
  if (method === 'initialize') {
    const session = randomUUID();
    sessions.set(session, whose);
    return result(`"protocolVersion":"2025-11-25",${OPEN}`, { 'mcp-session-id': session });
  }
  if (!isModern && sessions.get(request.headers['mcp-session-id']) !== whose) return send(response, 404, '{}');
  if (id === undefined) return response.writeHead(202).end();
  const cache = isModern ? '"ttlMs":60000,"cacheScope":"private",' : '';
  if (method === 'server/discover') return result(`"supportedVersions":["${MODERN}"],${cache}${OPEN}`);
  if (method === 'tools/list') return result(`${cache}"tools":[${server === 'all' ? allLists : oneList}]`);
  const { n, size = 0, count = 0 } = params.arguments;
  const content = `"content":[{"type":"text","text":"who=${who};srv=${server};n=${n};${padding(size)}"}]`;
  if (params.name === 'echo') return result(content);
  return sendProgress(response, params._meta?.progressToken, count, messageWith(content));
}

http
  .createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    const server = /^\/([a-z0-9]+)\/mcp$/.exec(request.url)?.[1];
    const { authorization = '' } = request.headers;
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (server === undefined || request.method !== 'POST') return response.writeHead(405).end();
      const who = remembered(`${server} ${authorization}`, () =>
        personOf(server, authorization.slice('Bearer '.length)),
      );
      if (who === undefined) return send(response, 401, '{}');
      answer(request, response, JSON.parse(Buffer.concat(chunks).toString()), server, who);
    });
  })
  .listen(Number(process.env.PORT), '127.0.0.1');
