// An agent with the official SDK: KEY=kb_… node examples/agent.mjs [url]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(process.argv[2] ?? 'http://127.0.0.1:8080/mcp'), {
    requestInit: { headers: { Authorization: `Bearer ${process.env.KEY}`, 'Keybearer-Principal': 'alice' } },
  }),
);
console.log((await client.listTools()).tools.map((tool) => tool.name));
await client.close();
