// The prompts, resources or templates of several servers as one list: under which name each is offered, and how an agent's
// word finds its way back. Routing goes by this table; only a told-apart URI says by itself whose it is.
import { isJsonObject, type JsonObject } from '../wire/reply.ts';
import type { ItemListing } from './list-kind.ts';
import { exposedName, prefixHolders } from './tool-name.ts';
import type { UpstreamServer } from './upstream-server.ts';

const APART = 'keybearer://';

/** What one server lists, in its own order. */
export interface ServerItems {
  readonly server: UpstreamServer;
  /** Each as JSON text. */
  readonly items: readonly string[];
}

export interface Item {
  readonly server: UpstreamServer;
  /** The server's own name or URI for it. */
  readonly own: string;
  /** The agent's. */
  readonly exposed: string;
  /** As it is listed to the agent. */
  readonly json: string;
}

/** By the agent's word for it, in the order in which they are listed. */
export type ItemView = ReadonlyMap<string, Item>;

/**
 * @param servers all there are, in the order of their names: a prefix is its first server's, whether that has answered or not
 * @param lists in the same order: of two that say the same the first keeps it
 * @param isOffered whether an admin lets this one be seen
 */
export function viewItems(
  listing: ItemListing,
  servers: readonly UpstreamServer[],
  lists: readonly ServerItems[],
  isOffered: (server: UpstreamServer, own: string) => boolean,
): ItemView {
  const view = new Map<string, Item>();
  const holders = prefixHolders(servers);
  for (const { server, items } of lists) {
    const own = new Set<string>();
    for (const text of items) {
      const read = readItem(listing, text);
      // The first of two stays.
      if (read === undefined || own.has(read.key)) continue;
      const { item, key } = read;
      own.add(key);
      if (!isOffered(server, key)) continue;
      const isTaken = (name: string): boolean => view.has(name);
      const exposed =
        listing.key === 'name'
          ? exposedName(
              server.prefix,
              server.name,
              key,
              (name) => holders.get(server.prefix) !== server.name || isTaken(name),
            )
          : isTaken(key) || key.startsWith(APART)
            ? tellApart(server.name, key)
            : key;
      if (isTaken(exposed)) continue;
      const json = exposed === key ? text : JSON.stringify({ ...item, [listing.key]: exposed });
      view.set(exposed, { server, own: key, exposed, json });
    }
  }
  return listing.key === 'name' ? sorted(view) : view;
}

/** An item and the word by which it is known; undefined for one without, as it cannot be asked for. */
export function readItem(
  listing: ItemListing,
  text: string,
): { readonly item: JsonObject; readonly key: string } | undefined {
  const item = JSON.parse(text) as unknown;
  const key = isJsonObject(item) ? item[listing.key] : undefined;
  return isJsonObject(item) && typeof key === 'string' && key !== '' ? { item, key } : undefined;
}

/** As tools are: in the order of their names. */
const sorted = (view: ItemView): ItemView => new Map([...view].sort(([a], [b]) => (a < b ? -1 : 1)));

/** A URI, or a template, that another server has as well: ours say whose they are, and hold it as it is. */
export const tellApart = (serverName: string, own: string): string => `${APART}${serverName}/${own}`;

export interface ToldApart {
  readonly serverName: string;
  readonly own: string;
}

/** Undefined for a URI that is not told apart. */
export function toldApart(uri: string): ToldApart | undefined {
  const slash = uri.indexOf('/', APART.length);
  if (!uri.startsWith(APART) || slash < 0 || slash === uri.length - 1) return undefined;
  return { serverName: uri.slice(APART.length, slash), own: uri.slice(slash + 1) };
}
