// The stand-in that a server offers until someone of the tenant has signed in to it.
import type { UpstreamServer } from './upstream-server.ts';

/** The tool as listed; `name` is the one it goes by in this view. */
export function connectTool(name: string, server: UpstreamServer): Record<string, unknown> {
  const title = server.title ?? server.name;
  return {
    name,
    title: `Connect ${title}`,
    description: `Signs the person in to ${title}, whose tools appear afterwards. Returns a link for the person to open in a browser.`,
    inputSchema: {
      type: 'object',
      properties: { wait: { type: 'boolean', description: 'Wait until the person has signed in.' } },
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        status: { type: 'string', enum: ['sign_in_required', 'connected'] },
        server: { type: 'string' },
        url: { type: 'string' },
        expiresAt: { type: 'string' },
      },
      required: ['status', 'server'],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  };
}
