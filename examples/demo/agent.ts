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
  /** How long Keybearer lets a call wait for its person. */
  readonly signInWaitMs: number;
  /** Called with a link for the person to open; without it the agent says that it cannot show links. */
  readonly onLink?: (url: string) => void;
}

/** Longer than the call may wait there, so that it is answered and not given up. */
const GRACE_MS = 60_000;

export async function connectAgent({ url, key, person, signInWaitMs, onLink }: AgentWishes): Promise<Agent> {
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
      const { content } = await client.callTool({ name, arguments: args }, { timeout: signInWaitMs + GRACE_MS });
      return content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
    },
    close: () => client.close(),
  };
}
