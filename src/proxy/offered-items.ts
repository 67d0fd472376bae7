// What all servers of a tenant offer to one caller beside tools, as one list. A server that is down, slow or not signed in to
// offers none, says so, and holds nobody up.

import type { HasCredential } from '../catalog/catalog.ts';
import { type ItemView, type ServerItems, viewItems } from '../catalog/item-view.ts';
import { ITEMS, type ItemKind } from '../catalog/list-kind.ts';
import { isInvalid, type Registry, type TenantServers } from '../catalog/registry.ts';
import { createServerNotes } from '../catalog/server-notes.ts';
import { type ServerState, serversMeta } from '../catalog/server-status.ts';
import { needsPerson, reasonOf, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { Pool } from '../connection/pool.ts';
import type { Caller } from '../identity/caller.ts';
import { isAllowed } from '../policy/allowed.ts';
import type { Clock } from '../shared/clock.ts';
import { startDeadline } from '../shared/deadline.ts';
import { ProxyError, toProxyError } from '../shared/errors.ts';
import type { JsonObject } from '../wire/reply.ts';
import type { ServerItemsOf } from './server-items.ts';

export interface OfferedItems {
  readonly view: ItemView;
  /** Those that may have something of the kind, as far as it is known. */
  readonly mayHave: readonly UpstreamServer[];
  /** How each server stands, as lists of tools say it. */
  readonly servers: ReturnType<typeof serversMeta>;
}

interface Merged {
  readonly servers: readonly UpstreamServer[];
  readonly lists: readonly ServerItems[];
  readonly view: ItemView;
}

export interface OfferedItemsDeps {
  readonly registry: Registry;
  readonly itemsOf: ServerItemsOf;
  readonly hasCredential: HasCredential;
  readonly pool: Pick<Pool, 'onOpen'>;
  readonly listDeadlineMs: number;
  readonly clock: Clock;
}

/** Never rejects for one server's sake; rejects with the signal's reason. */
export type OfferItems = (caller: Caller, kind: ItemKind, signal: AbortSignal) => Promise<OfferedItems>;

interface Found {
  readonly name: string;
  readonly items: ServerItems | undefined;
  readonly state: ServerState;
  readonly reason: string | undefined;
}

export function createOfferItems(deps: OfferedItemsDeps): OfferItems {
  const { registry, itemsOf, hasCredential, pool, listDeadlineMs, clock } = deps;
  /** What each said it can do; nobody is connected for a list that is known to be empty. */
  const said = createServerNotes<JsonObject>(registry);
  pool.onOpen(({ server, connection }) => said.keep(server, connection.capabilities));
  const views = new WeakMap<readonly string[], Merged>();

  const hasNone = (server: UpstreamServer, kind: ItemKind): boolean => {
    const capabilities = said.find(server);
    return capabilities !== undefined && capabilities[ITEMS[kind].capability] === undefined;
  };

  const ask = async (server: UpstreamServer, caller: Caller, kind: ItemKind, signal: AbortSignal): Promise<Found> => {
    const standing = { name: server.name, items: undefined, reason: undefined };
    if (hasNone(server, kind)) return { ...standing, state: 'ok' };
    if (needsPerson(server) && !(await hasCredential(server, caller.principalId)))
      return { ...standing, state: 'sign_in_required', reason: 'You have not signed in to it.' };
    try {
      const items = await itemsOf(server, caller.principalId, kind, signal);
      return { ...standing, state: 'ok', items: hasNone(server, kind) ? undefined : { server, items } };
    } catch (error) {
      const { code, message } = toProxyError(error);
      const isAsked = code === 'sign_in_required' || code === 'credential_refused';
      return { ...standing, state: isAsked ? 'sign_in_required' : 'unavailable', reason: message };
    }
  };

  /** Made anew only when a list was read anew. */
  const merged = (kind: ItemKind, servers: readonly UpstreamServer[], lists: readonly ServerItems[]): ItemView => {
    const [first] = lists;
    if (first === undefined) return new Map();
    const known = views.get(first.items);
    if (known !== undefined && isEqual(known.servers, servers) && isEqual(textsOf(known.lists), textsOf(lists)))
      return known.view;
    const view = viewItems(ITEMS[kind], servers, lists, (server, own) => isAllowed(server, kind, own));
    views.set(first.items, { servers, lists, view });
    return view;
  };

  return async (caller, kind, signal) => {
    const late = (): Error => new ProxyError('upstream_timeout', `It has not answered within ${listDeadlineMs} ms.`);
    const deadline = startDeadline(clock, signal, listDeadlineMs, listDeadlineMs, late);
    try {
      const { byName } = await registry.tenant(caller.tenantId);
      const servers = [...byName.values()]
        .map(({ server }) => server)
        .filter((server): server is UpstreamServer => !isInvalid(server) && server.enabled)
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      const found = await Promise.all(servers.map((server) => ask(server, caller, kind, deadline.signal)));
      signal.throwIfAborted();
      const lists = found.map(({ items }) => items).filter((items) => items !== undefined);
      return {
        view: merged(kind, servers, lists),
        mayHave: servers.filter((server) => !hasNone(server, kind)),
        servers: serversMeta([...found, ...invalidOnes(byName)]),
      };
    } finally {
      deadline.end();
    }
  };
}

/** A list that was not read anew is the same array, and belongs to one server. */
const textsOf = (lists: readonly ServerItems[]): readonly unknown[] => lists.map(({ items }) => items);

const isEqual = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((element, nth) => element === other[nth]);

/** In words of whoever wrote the definition, as lists of tools have them. */
const invalidOnes = (byName: TenantServers['byName']): readonly Omit<Found, 'items'>[] =>
  [...byName.values()]
    .map(({ server }) => server)
    .filter(isInvalid)
    .map((server) => ({ name: server.name, state: 'invalid', reason: reasonOf(server) }));
