// What all servers of a tenant offer to one caller beside tools, as one list. A server that is down, slow or not signed in to
// offers none, says so, and holds nobody up.

import type { HasCredential } from '../catalog/catalog.ts';
import { type ItemView, type ServerItems, viewItems } from '../catalog/item-view.ts';
import { ITEMS, type ItemKind } from '../catalog/list-kind.ts';
import { isInvalid, type Registry, type TenantServers } from '../catalog/registry.ts';
import type { ServerState } from '../catalog/server-status.ts';
import { needsPerson, reasonOf, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { Pool } from '../connection/pool.ts';
import type { Caller } from '../identity/caller.ts';
import { isAllowed } from '../policy/allowed.ts';
import type { Clock } from '../shared/clock.ts';
import { startDeadline } from '../shared/deadline.ts';
import { ProxyError, toProxyError } from '../shared/errors.ts';
import type { ServerId } from '../shared/id.ts';
import type { JsonObject } from '../wire/reply.ts';
import type { ServerItemsOf } from './server-items.ts';

export interface OfferedItems {
  readonly view: ItemView;
  /** Those that may have something of the kind, as far as it is known. */
  readonly mayHave: readonly UpstreamServer[];
  /** How each server stands, as lists of tools say it. */
  readonly servers: Readonly<Record<string, Standing>>;
}

interface Standing {
  readonly state: ServerState;
  readonly reason?: string;
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
  readonly items: ServerItems | undefined;
  readonly state: ServerState;
  readonly reason?: string;
}

export function createOfferItems(deps: OfferedItemsDeps): OfferItems {
  const { registry, itemsOf, hasCredential, pool, listDeadlineMs, clock } = deps;
  /** What each server said it can do, as it is defined now; nobody is connected for a list that is known to be empty. */
  const said = new Map<ServerId, { readonly revision: string; readonly capabilities: JsonObject }>();
  pool.onOpen(({ server: { id, revision }, connection: { capabilities } }) => said.set(id, { revision, capabilities }));
  registry.onChange((_tenantId, now, before) => {
    for (const { server } of before?.byName.values() ?? []) if (!now.byName.has(server.name)) said.delete(server.id);
  });
  const views = new WeakMap<readonly string[], Merged>();

  const hasNone = (server: UpstreamServer, kind: ItemKind): boolean => {
    const known = said.get(server.id);
    return known?.revision === server.revision && known.capabilities[ITEMS[kind].capability] === undefined;
  };

  const ask = async (server: UpstreamServer, caller: Caller, kind: ItemKind, signal: AbortSignal): Promise<Found> => {
    if (hasNone(server, kind)) return { items: undefined, state: 'ok' };
    if (needsPerson(server) && !(await hasCredential(server, caller.principalId)))
      return { items: undefined, state: 'sign_in_required', reason: 'You have not signed in to it.' };
    try {
      const items = await itemsOf(server, caller.principalId, kind, signal);
      return { items: hasNone(server, kind) ? undefined : { server, items }, state: 'ok' };
    } catch (error) {
      const { code, message } = toProxyError(error);
      const isAsked = code === 'sign_in_required' || code === 'credential_refused';
      return { items: undefined, state: isAsked ? 'sign_in_required' : 'unavailable', reason: message };
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
      const states = servers.map(({ name }, nth): [string, Standing] => {
        const { state = 'unavailable', reason } = found[nth] ?? {};
        return [name, reason === undefined ? { state } : { state, reason }];
      });
      return {
        view: merged(kind, servers, lists),
        mayHave: servers.filter((server) => !hasNone(server, kind)),
        servers: Object.fromEntries([...states, ...invalidOnes(byName)]),
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
const invalidOnes = (byName: TenantServers['byName']): readonly (readonly [string, Standing])[] =>
  [...byName.values()]
    .map(({ server }) => server)
    .filter(isInvalid)
    .map((server) => [server.name, { state: 'invalid', reason: reasonOf(server) }]);
