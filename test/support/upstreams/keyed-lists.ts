// What tools a keyed server shows to whom, and in which pages.
import type { Exchange } from './keyed-exchange.ts';
import type { KeyedState } from './keyed-state.ts';
import { TOOL_NAMES } from './keyed-tools.ts';
import type { JsonObject } from './message.ts';

interface Page {
  readonly tools: readonly JsonObject[];
  readonly nextCursor?: string;
}

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

const slice = (all: readonly JsonObject[], from: number, size: number, cursor = String(from + size)): Page => ({
  tools: all.slice(from, from + size),
  ...(from + size < all.length ? { nextCursor: cursor } : {}),
});

/** Undefined when the cursor is none of ours. */
function page(state: KeyedState, all: readonly JsonObject[], cursor: unknown): Page | undefined {
  const { paging } = state.settings;
  const half = Math.ceil(all.length / 2);
  switch (paging.kind) {
    case 'none':
      return cursor === undefined ? { tools: all } : undefined;
    case 'size': {
      const from = Number(cursor ?? 0);
      return from >= 0 && from < all.length && from % paging.size === 0 ? slice(all, from, paging.size) : undefined;
    }
    case 'empty-cursor':
      return cursor === undefined ? slice(all, 0, half, '') : cursor === '' ? { tools: all.slice(half) } : undefined;
    case 'repeated-cursor':
      return { tools: all, nextCursor: 'x' };
    case 'endless': {
      const n = Number(cursor ?? 0);
      return {
        tools: [{ ...tool(`page_${n}`), description: 'x'.repeat(paging.pageBytes) }],
        nextCursor: String(n + 1),
      };
    }
  }
}

export function listTools(exchange: Exchange): void {
  const { state, principal, message, era } = exchange.asked;
  const { ttlMs, cacheScope } = state.settings;
  const found = page(state, toolNames(state, principal).map(tool), message.params['cursor']);
  if (found === undefined) return exchange.error(-32602, 'Unknown cursor');
  exchange.result(JSON.stringify({ ...found, ...(era === 'modern' ? { ttlMs, cacheScope } : {}) }));
}
