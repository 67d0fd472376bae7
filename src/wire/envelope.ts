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

/** Written anew on each hop, never carried over it. */
const OF_ONE_HOP = new Set([META_VERSION, META_CLIENT_INFO, META_CAPABILITIES, 'progressToken']);

/** What of the agent's `_meta` travels on, and what this hop adds; undefined when that is nothing. */
function metaFor(id: number, meta: unknown, hop: Hop, wantsProgress: boolean): Record<string, unknown> | undefined {
  const carried = isJsonObject(meta)
    ? Object.entries(meta).filter(([key]) => !OF_ONE_HOP.has(key) && (hop.era === 'modern' || key !== META_LOG_LEVEL))
    : [];
  if (carried.length === 0 && !wantsProgress && hop.era === 'legacy') return undefined;
  // From entries, so that a key called __proto__ stays a key.
  const written: Record<string, unknown> = carried.length === 0 ? {} : Object.fromEntries(carried);
  if (wantsProgress) written['progressToken'] = id;
  if (hop.era === 'legacy') return written;
  written[META_VERSION] = MODERN_VERSION;
  written[META_CLIENT_INFO] = hop.client;
  written[META_CAPABILITIES] = hop.capabilities;
  return written;
}

/** The whole message for the upstream, as JSON text. `id` doubles as progress token where one is wanted. */
export function writeRequest(
  id: number,
  method: string,
  params: JsonObject | undefined,
  hop: Hop,
  wantsProgress: boolean,
): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
  const meta = metaFor(id, params?.['_meta'], hop, wantsProgress);
  if (params === undefined && meta === undefined) return `${head}}`;
  return `${head},"params":${JSON.stringify({ ...params, _meta: meta })}}`;
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
