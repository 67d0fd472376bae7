// The official SDK's second line (@modelcontextprotocol/client), in either era.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../upstreams/message.ts';
import type { Agent, AgentHeaders, CallOptions } from './agent.ts';
import { allPages } from './all-pages.ts';
import { askSdk } from './sdk-offers.ts';
import { type SdkWishes, sdkCapabilities, sdkOptions } from './sdk-options.ts';

const modes = { sdk2Legacy: 'legacy', sdk2Modern: { pin: '2026-07-28' } } as const;

export async function connectSdk2(
  kind: keyof typeof modes,
  url: string,
  headers: AgentHeaders,
  wishes: SdkWishes = {},
): Promise<Agent> {
  const client = new Client(
    { name: kind, version: '1.0.0' },
    { versionNegotiation: { mode: modes[kind] }, ...sdkCapabilities(wishes) },
  );
  const { onLink, onLinkDone } = wishes;
  if (onLink !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: await onLink({ ...params }) }));
  if (onLinkDone !== undefined)
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
      onLinkDone(params.elicitationId),
    );
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return {
    kind,
    // This client puts all pages into one by itself, and would answer from its own cache.
    listTools: () =>
      allPages((cursor) => client.listTools(cursor === undefined ? {} : { cursor }, { cacheMode: 'refresh' })),
    callTool: async (name: string, args: JsonObject = {}, options: CallOptions = {}) =>
      client.callTool({ name, arguments: { ...args } }, sdkOptions(options)),
    ask: (method, params = {}) => askSdk(client, method, params, { cacheMode: 'refresh' }),
    onListChanged: async (changed) => {
      client.setNotificationHandler('notifications/tools/list_changed', () => changed());
      if (kind === 'sdk2Modern') await client.listen({ toolsListChanged: true });
    },
    close: async () => {
      if (kind === 'sdk2Legacy') await transport.terminateSession();
      await client.close();
    },
  };
}
