// The official SDK's first line (@modelcontextprotocol/sdk), legacy era only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../upstreams/message.ts';
import type { Agent, AgentHeaders, CallOptions } from './agent.ts';
import { allPages } from './all-pages.ts';
import { askSdk } from './sdk-offers.ts';
import { type SdkWishes, sdkCapabilities, sdkOptions } from './sdk-options.ts';

export async function connectSdk1(url: string, headers: AgentHeaders, wishes: SdkWishes = {}): Promise<Agent> {
  const client = new Client({ name: 'sdk1', version: '1.0.0' }, sdkCapabilities(wishes));
  const { onLink, onLinkDone } = wishes;
  if (onLink !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ action: await onLink({ ...params }) }));
  if (onLinkDone !== undefined)
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
      onLinkDone(params.elicitationId),
    );
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return {
    kind: 'sdk1',
    listTools: () => allPages((cursor) => client.listTools(cursor === undefined ? {} : { cursor })),
    callTool: async (name: string, args: JsonObject = {}, options: CallOptions = {}) =>
      client.callTool({ name, arguments: { ...args } }, undefined, sdkOptions(options)),
    ask: (method, params = {}) => askSdk(client, method, params),
    onListChanged: async (changed) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed()),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}
