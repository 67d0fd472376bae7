// An agent as people have them: the official client, one key, and the name of the person it works for.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export interface Agent {
  toolNames(): Promise<readonly string[]>;
  /** The text of the answer. */
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

export interface AgentWishes {
  readonly url: string;
  readonly key: string;
  readonly person: string;
  /** Called with a link for the person to open; without it the agent says that it cannot show links. */
  readonly onLink?: (url: string) => void;
}

/** A person may take as long as a link is good. */
const WAIT_MS = 600_000;

export async function connectAgent({ url, key, person, onLink }: AgentWishes): Promise<Agent> {
  const client = new Client(
    { name: `agent-of-${person}`, version: '1.0.0' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: onLink === undefined ? {} : { elicitation: { url: {} } },
    },
  );
  if (onLink !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (params.mode !== 'url') return { action: 'decline' };
      onLink(params.url);
      return { action: 'accept' };
    });
  const headers = { authorization: `Bearer ${key}`, 'keybearer-principal': person };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return {
    toolNames: async () => (await client.listTools({}, { cacheMode: 'refresh' })).tools.map(({ name }) => name),
    call: async (name, args = {}) => {
      const { content } = await client.callTool({ name, arguments: args }, { timeout: WAIT_MS });
      return content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
    },
    close: () => client.close(),
  };
}
