// A server of 2026-07-28 only, by the second SDK.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(
  () => {
    const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool('hello', { description: 'says hello' }, () => {
      server.sendToolListChanged();
      return { content: [{ type: 'text', text: 'hello' }] };
    });
    return server;
  },
  { legacy: 'reject' },
);
