// The baseline that one would write in an hour: the official SDK (v1) on both sides, a server object per
// agent session and in it a client per upstream server, express in front. Speaks 2025-11-25 only.
import { createPublicKey, randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import { jwtVerify } from 'jose';
import { AUDIENCE, ISSUER, SERVERS, serverName, tokenFor } from './people.mjs';

const publicKey = createPublicKey(process.env.BENCH_PUBLIC_KEY);
const sessions = new Map();

async function connect(who, name) {
  const headers = { authorization: `Bearer ${tokenFor(name, who)}` };
  const client = new Client({ name: 'naive', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${process.env.UPSTREAM}/${name}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

function serverFor(who) {
  const clients = new Map();
  const clientFor = (name) => clients.get(name) ?? clients.set(name, connect(who, name)).get(name);
  const server = new Server({ name: 'naive', version: '1' }, { capabilities: { tools: {} } });
  const listOne = async (name) => {
    const { tools } = await (await clientFor(name)).listTools();
    return tools.map((tool) => ({ ...tool, name: `${name}__${tool.name}` }));
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const lists = await Promise.all(Array.from({ length: SERVERS }, (_, j) => listOne(serverName(j))));
    return { tools: lists.flat() };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const [name, tool] = params.name.split('__');
    const progressToken = params._meta?.progressToken;
    const onprogress = (progress) =>
      sendNotification({ method: 'notifications/progress', params: { ...progress, progressToken } });
    const options = progressToken === undefined ? {} : { onprogress };
    return (await clientFor(name)).callTool({ name: tool, arguments: params.arguments }, undefined, options);
  });
  return server;
}

async function openSession(who) {
  const session = { who };
  session.transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, session),
  });
  await serverFor(who).connect(session.transport);
  return session;
}

async function whoAsks(request) {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  return (await jwtVerify(token, publicKey, { issuer: ISSUER, audience: AUDIENCE })).payload.sub;
}

express()
  .use(express.json({ limit: '16mb' }))
  .all('/mcp', async (request, response) => {
    const who = await whoAsks(request);
    const session = sessions.get(request.headers['mcp-session-id']) ?? (await openSession(who));
    if (session.who !== who) return response.status(404).end();
    await session.transport.handleRequest(request, response, request.body);
  })
  .listen(Number(process.env.PORT), '127.0.0.1');
