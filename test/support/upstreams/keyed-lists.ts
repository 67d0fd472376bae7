// What tools a keyed server shows to whom, and in which pages.
import type { Exchange } from './keyed-exchange.ts';
import { pageOf } from './keyed-pages.ts';
import type { KeyedState } from './keyed-state.ts';
import { TOOL_NAMES } from './keyed-tools.ts';
import type { JsonObject } from './message.ts';

const properties: Readonly<Record<string, JsonObject>> = {
  slow: { ms: { type: 'integer' } },
  progress: { count: { type: 'integer' }, everyMs: { type: 'integer' } },
  big: { bytes: { type: 'integer' } },
  // SEP-2243: over HTTP the argument is repeated in the header Mcp-Param-Region.
  regional: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};

const tool = (name: string): JsonObject => ({
  name,
  description: `The tool ${name}`,
  inputSchema: { type: 'object', properties: properties[name] ?? {} },
  annotations: { readOnlyHint: name !== 'add_tool', 'x-unknown': 1 },
});

export function toolNames(state: KeyedState, principal: string): readonly string[] {
  const own = state.options.ownTools?.(principal) ?? [];
  return [...TOOL_NAMES, ...own, ...state.addedTools].filter((name) => !state.removedTools.has(name));
}

export function listTools(exchange: Exchange): void {
  const { state, principal, message, era } = exchange.asked;
  const { ttlMs, cacheScope, paging } = state.settings;
  const tools = toolNames(state, principal).map(tool);
  const found = pageOf(paging, tools, message.params['cursor'], (n, bytes) => ({
    ...tool(`page_${n}`),
    description: 'x'.repeat(bytes),
  }));
  if (found === undefined) return exchange.error(-32602, 'Unknown cursor');
  const { items, ...rest } = found;
  exchange.result(JSON.stringify({ tools: items, ...rest, ...(era === 'modern' ? { ttlMs, cacheScope } : {}) }));
}
