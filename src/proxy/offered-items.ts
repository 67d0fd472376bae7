// What all servers of a tenant offer to one caller beside tools, as one list. A server that is down, slow or not signed in to
// offers none, says so, and holds nobody up.

import type { HasCredential } from '../catalog/catalog.ts';
import { type ItemView, type ServerItems, viewItems } from '../catalog/item-view.ts';
import { ITEMS, type ItemKind } from '../catalog/list-kind.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { ServerState } from '../catalog/server-status.ts';
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
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
  /** How each server stands, as lists of tools say it. */
  readonly servers: Readonly<Record<string, { readonly state: ServerState; readonly reason?: string }>>;
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
  readonly items: ServerItems | undefined;
  readonly state: ServerState;
  readonly reason?: string;
}

export function createOfferItems(deps: OfferedItemsDeps): OfferItems {
  const { registry, itemsOf, hasCredential, pool, listDeadlineMs, clock } = deps;
  /** What each definition's server said it can do; nobody is connected for a list that is known to be empty. */
  const capabilities = new WeakMap<UpstreamServer, JsonObject>();
  pool.onOpen(({ server, connection }) => capabilities.set(server, connection.capabilities));
  const views = new WeakMap<readonly string[], { readonly lists: readonly ServerItems[]; readonly view: ItemView }>();

  const ask = async (server: UpstreamServer, caller: Caller, kind: ItemKind, signal: AbortSignal): Promise<Found> => {
    const known = capabilities.get(server);
    if (known !== undefined && known[ITEMS[kind].capability] === undefined) return { items: undefined, state: 'ok' };
    if (needsPerson(server) && !(await hasCredential(server, caller.principalId)))
      return { items: undefined, state: 'sign_in_required', reason: 'You have not signed in to it.' };
    try {
      return { items: { server, items: await itemsOf(server, caller.principalId, kind, signal) }, state: 'ok' };
    } catch (error) {
      const { code, message } = toProxyError(error);
      const isAsked = code === 'sign_in_required' || code === 'credential_refused';
      return { items: undefined, state: isAsked ? 'sign_in_required' : 'unavailable', reason: message };
    }
  };

  /** Made anew only when a list was read anew. */
  const merged = (kind: ItemKind, lists: readonly ServerItems[]): ItemView => {
    const [first] = lists;
    if (first === undefined) return new Map();
    const known = views.get(first.items);
    const isSame =
      known?.lists.length === lists.length &&
      known.lists.every(({ server, items }, nth) => server === lists[nth]?.server && items === lists[nth]?.items);
    if (isSame) return known.view;
    const view = viewItems(ITEMS[kind], lists, (server, own) => isAllowed(server, kind, own));
    views.set(first.items, { lists, view });
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
        view: merged(kind, lists),
        servers: Object.fromEntries(
          found.map(({ state, reason }, nth) => [
            servers[nth]?.name,
            reason === undefined ? { state } : { state, reason },
          ]),
        ),
      };
    } finally {
      deadline.end();
    }
  };
}
