// The parts of a request that belong to one hop: id, progress token, and in the modern era the
// `_meta` keys that say who asks in which version (2026-07-28 §basic/index, _meta). Everything else
// travels by reference.
import { type Era, META_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL, META_VERSION, MODERN_VERSION } from './era.ts';
import { isJsonObject, type JsonObject } from './reply.ts';

export interface Implementation {
  readonly name: string;
  readonly version: string;
}

export interface Hop {
  readonly era: Era;
  readonly client: Implementation;
  /** What of the agent's capabilities can be relayed over this hop. */
  readonly capabilities: JsonObject;
}

/** Drops what the previous hop wrote and the agent's token; undefined when nothing is left. */
function foreignMeta(meta: unknown): Record<string, unknown> | undefined {
  if (!isJsonObject(meta)) return undefined;
  const { [META_VERSION]: _v, [META_CLIENT_INFO]: _i, [META_CAPABILITIES]: _c, progressToken: _t, ...rest } = meta;
  for (const _ in rest) return rest;
  return undefined;
}

/** The whole message for the upstream, as JSON text. `id` doubles as progress token where one is wanted. */
export function writeRequest(id: number, method: string, params: JsonObject | undefined, hop: Hop, wantsProgress: boolean): string {
  let meta = foreignMeta(params?.['_meta']);
  if (wantsProgress) meta = { ...meta, progressToken: id };
  if (hop.era === 'modern') {
    meta = { ...meta, [META_VERSION]: MODERN_VERSION, [META_CLIENT_INFO]: hop.client, [META_CAPABILITIES]: hop.capabilities };
  } else if (meta !== undefined && META_LOG_LEVEL in meta) {
    const { [META_LOG_LEVEL]: _l, ...rest } = meta;
    meta = rest;
  }
  if (params === undefined && meta === undefined) return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}}`;
  const { _meta: _m, ...own } = params ?? {};
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: meta === undefined ? own : { ...own, _meta: meta } });
}

const TOKEN = /"progressToken"\s*:\s*(?:(\d+)(?![\d.eE])|"(\d+)")/;
/** Where a second token, perhaps in disguise, would be the one that the agent reads. */
const ANOTHER_TOKEN = /"progressToken"|\\u00(?:[46][1-9a-f]|[57][0-9a])/i;

/**
 * A progress notification with the agent's token in place of ours. Undefined when its token is not
 * `id`: made up, or of another call; those are dropped.
 */
export function readdressProgress(raw: string, id: number, agentToken: string | undefined): string | undefined {
  const found = TOKEN.exec(raw);
  if (found === null || Number(found[1] ?? found[2]) !== id) return undefined;
  if (agentToken === undefined) return '';
  const end = found.index + found[0].length;
  if (ANOTHER_TOKEN.test(raw.slice(0, found.index) + raw.slice(end))) return undefined;
  const start = end - (found[1] ?? `"${found[2] as string}"`).length;
  return raw.slice(0, start) + agentToken + raw.slice(end);
}
