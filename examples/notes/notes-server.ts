// A sample MCP server that keeps notes for each person, and takes only tokens of its authorization server.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type Request, type Response } from 'express';
import { z } from 'zod';
import { createAuthorizationServer, SCOPES } from './authorization-server.ts';
import { Grants, type Permission } from './grants.ts';

export interface NotesServer {
  /** Where MCP is spoken. */
  readonly url: string;
  close(): Promise<void>;
}

/** Notes by person, for as long as this runs. */
type Notes = Map<string, string[]>;

const METADATA = '/.well-known/oauth-protected-resource/mcp';

export async function startNotes(port = 0): Promise<NotesServer> {
  const grants = new Grants();
  const notes: Notes = new Map();
  let origin = '';
  const resource = (): string => `${origin}/mcp`;
  const app = express();
  app.use(createAuthorizationServer(grants, () => origin));

  // RFC 9728: who gives tokens for this server.
  app.get(METADATA, (_, response) => {
    response.json({ resource: resource(), authorization_servers: [origin], scopes_supported: SCOPES });
  });

  app.post('/mcp', express.json(), async (request, response) => {
    const permission = permissionOf(grants, request, resource());
    if (permission === undefined) return refuse(request, response, `${origin}${METADATA}`);
    await answer(mcpFor(permission, notes), request, response);
  });
  app.all('/mcp', (_, response) => void response.status(405).set('allow', 'POST').end());

  const listener = app.listen(port, '127.0.0.1');
  await once(listener, 'listening');
  origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    url: resource(),
    close: async () => {
      const closed = once(listener, 'close');
      listener.close();
      listener.closeAllConnections();
      await closed;
    },
  };
}

/** Undefined unless the token is good, and meant for this server and no other. */
function permissionOf(grants: Grants, request: Request, resource: string): Permission | undefined {
  const token = /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1];
  const permission = token === undefined ? undefined : grants.find(token);
  return permission?.resource === resource ? permission : undefined;
}

function refuse(request: Request, response: Response, metadataUrl: string): void {
  const error = request.get('authorization') === undefined ? '' : ', error="invalid_token"';
  const challenge = `Bearer resource_metadata="${metadataUrl}", scope="${SCOPES.join(' ')}"${error}`;
  response.status(401).set('www-authenticate', challenge).json({ error: 'invalid_token' });
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** Made for one request: the tools know whose they are. */
function mcpFor({ person }: Permission, notes: Notes): McpServer {
  const server = new McpServer({ name: 'notes', title: 'Notes', version: '1.0.0' });
  const own = notes.get(person) ?? [];
  server.registerTool('whoami', { description: 'Says whose notes these are' }, () => text(person));
  server.registerTool('list_notes', { description: 'All of your notes', annotations: { readOnlyHint: true } }, () =>
    text(own.length === 0 ? `${person} has no notes yet` : `${person}: ${own.join(' | ')}`),
  );
  server.registerTool(
    'write_note',
    { description: 'Keeps a note for you', inputSchema: { text: z.string().max(1000) } },
    ({ text: note }) => {
      notes.set(person, [...own, note]);
      return text(`Kept for ${person}: ${note}`);
    },
  );
  return server;
}

async function answer(server: McpServer, request: Request, response: Response): Promise<void> {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
}
