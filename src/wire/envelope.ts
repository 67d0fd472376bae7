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

const asking = new WeakMap<Implementation, string>();

/** The same with every request of ours, up to what can be done. */
function whoAsks(client: Implementation): string {
  let text = asking.get(client);
  if (text === undefined) {
    text = `"${META_VERSION}":"${MODERN_VERSION}","${META_CLIENT_INFO}":${JSON.stringify(client)},"${META_CAPABILITIES}":`;
    asking.set(client, text);
  }
  return text;
}

/** The members of `_meta`, as JSON text: what of the agent's travels on, then what this hop adds. */
function metaMembers(id: number, meta: JsonObject | undefined, hop: Hop, wantsProgress: boolean): string[] {
  const members: string[] = [];
  for (const key in meta) {
    const isCarried = !OF_ONE_HOP.has(key) && (hop.era === 'modern' || key !== META_LOG_LEVEL);
    if (isCarried) members.push(`${JSON.stringify(key)}:${JSON.stringify(meta[key])}`);
  }
  if (wantsProgress) members.push(`"progressToken":${id}`);
  if (hop.era === 'modern') {
    members.push(`${whoAsks(hop.client)}${JSON.stringify(hop.capabilities)}`);
  }
  return members;
}

/** The members of an object but for `_meta`, as JSON text; '' for none. */
function membersWithoutMeta(params: JsonObject | undefined): string {
  if (params === undefined) return '';
  if (!('_meta' in params)) return JSON.stringify(params).slice(1, -1);
  const { _meta: _, ...own } = params;
  return JSON.stringify(own).slice(1, -1);
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
  const meta = params?.['_meta'];
  const carried = metaMembers(id, isJsonObject(meta) ? meta : undefined, hop, wantsProgress);
  if (params === undefined && carried.length === 0) return `${head}}`;
  const own = membersWithoutMeta(params);
  if (carried.length === 0) return `${head},"params":{${own}}}`;
  return `${head},"params":{${own}${own === '' ? '' : ','}"_meta":{${carried.join(',')}}}}`;
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
