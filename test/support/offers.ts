// What servers offer beside tools, as tests ask for it: the lists, and what is read in their results.
import { isObject, type JsonObject, objectAt } from './upstreams/message.ts';

/** The lists, each with where its items stand and by what they are known. */
export const LISTS = [
  { method: 'prompts/list', member: 'prompts', key: 'name' },
  { method: 'resources/list', member: 'resources', key: 'uri' },
  { method: 'resources/templates/list', member: 'resourceTemplates', key: 'uriTemplate' },
] as const;
export type List = (typeof LISTS)[number];

interface Asking {
  ask(method: List['method'], params?: JsonObject): Promise<JsonObject>;
}

export function itemsIn(result: JsonObject, { member }: List): readonly JsonObject[] {
  const items = result[member];
  if (!Array.isArray(items) || !items.every(isObject)) throw new Error(`There is no list of ${member}`);
  return items;
}

const MAX_PAGES = 16;

/** By what the items of all pages are known, in their order. */
export async function keysOf(agent: Asking, list: List): Promise<readonly unknown[]> {
  const keys: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await agent.ask(list.method, cursor === undefined ? {} : { cursor });
    keys.push(...itemsIn(result, list).map((item) => item[list.key]));
    cursor = result['nextCursor'];
    if (cursor === undefined) return keys;
  }
  throw new Error(`More than ${MAX_PAGES} pages`);
}

/** How the servers stand, as a list says it. */
export const serversIn = (result: JsonObject): JsonObject => objectAt(objectAt(result, '_meta'), 'keybearer/servers');

/** The text of a prompt's first message, of the first contents of a resource, or the values of a completion. */
export function saidIn(result: JsonObject): string {
  const first = (member: string): JsonObject => {
    const list = result[member];
    return Array.isArray(list) && isObject(list[0]) ? list[0] : {};
  };
  const { values } = objectAt(result, 'completion');
  if (Array.isArray(values)) return values.join(';');
  return String(objectAt(first('messages'), 'content')['text'] ?? first('contents')['text']);
}
