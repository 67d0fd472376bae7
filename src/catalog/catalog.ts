// Everything one caller could use: list and find. Lists come from memory; only servers whose tools are
// not known yet are waited for, each on its own and all together no longer than the list deadline.
import { LRUCache } from 'lru-cache';
import type { Caller } from '../identity/caller.ts';
import type { Clock } from '../shared/clock.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import type { Implementation } from '../wire/envelope.ts';
import type { CallTroubles } from './call-troubles.ts';
import type { Discovery } from './discovery.ts';
import { isInvalid, type Registered, type Registry, type TenantServers, type ToolList } from './registry.ts';
import { inFull, type LastError, type ServerStatus } from './server-status.ts';
import { needsPerson, reasonOf, type UpstreamServer } from './upstream-server.ts';
import { buildOffer, type Offer, type Standing, type Target, type View, viewOf } from './view.ts';

/** `only` names the one server behind `/mcp/{name}`, which keeps its own tool names. */
export interface Scope {
  readonly only: string | undefined;
}

export interface Catalog {
  /** Undefined when the scope names nothing that is registered. */
  readonly view: (caller: Caller, scope: Scope, signal: AbortSignal) => Promise<View | undefined>;
  /** From memory when the name is known; else as soon as the servers that are not known yet have answered. */
  find(
    caller: Caller,
    scope: Scope,
    name: string,
    signal: AbortSignal,
  ): Target | undefined | Promise<Target | undefined>;
  /** How one server stands in the tenant, for the admin API. */
  status(tenantId: TenantId, name: string): ServerStatus;
}

/** Port: whether this principal has a usable credential for the server. */
export type HasCredential = (server: UpstreamServer, principalId: PrincipalId) => boolean | Promise<boolean>;

export interface CatalogDeps {
  readonly registry: Registry;
  readonly discovery: Discovery;
  readonly troubles: Pick<CallTroubles, 'troubleOf' | 'version' | 'signIn'>;
  readonly hasCredential: HasCredential;
  readonly ownerKeyOf: (principalId: PrincipalId) => string;
  readonly self: Implementation;
  readonly listDeadlineMs: number;
  readonly clock: Clock;
}

/** A list older than this is read again in the background when somebody asks. */
const STALE_MS = 10 * 60_000;
const VIEW_BYTES = 256 * 1024 * 1024;

/** The servers of one scope, by name. */
interface Selection {
  readonly chosen: readonly Registered[];
  /** Some of them show each principal their own list. */
  readonly isPersonal: boolean;
}

interface Kept {
  /** Of the tenant's servers. */
  readonly version: number;
  readonly offer: Offer;
  /** What the view says of the servers' state. */
  troubles: number;
  view: View;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const { registry, discovery, troubles, hasCredential, ownerKeyOf, self, listDeadlineMs, clock } = deps;
  const selections = new WeakMap<TenantServers, Map<string | undefined, Selection>>();
  const personal = new LRUCache<string, Kept>({
    maxSize: VIEW_BYTES,
    sizeCalculation: ({ offer }) => offer.bytes + 1_000,
  });
  /** What everyone of a tenant shares, by scope; it lives as long as nothing of the tenant's servers changes. */
  const shared = new Map<TenantId, Map<string | undefined, Kept>>();
  registry.onChange((tenantId) => shared.delete(tenantId));
  const builds = new SingleFlight<Kept>();

  /** Differs whenever what is said of the servers may differ: both only grow. */
  const troublesOf = (tenantId: TenantId): number => discovery.version(tenantId) + troubles.version(tenantId);

  const select = (servers: TenantServers, { only }: Scope): Selection => {
    const chosen = [...servers.byName.values()]
      .filter(({ server }) => (only === undefined || server.name === only) && (isInvalid(server) || server.enabled))
      .sort((a, b) => (a.server.name < b.server.name ? -1 : 1));
    return {
      chosen,
      isPersonal: chosen.some(({ server }) => !isInvalid(server) && isPersonalList(server)),
    };
  };

  /** Every call asks for it; it follows from the tenant's servers alone. */
  const selected = (servers: TenantServers, scope: Scope): Selection => {
    let byScope = selections.get(servers);
    if (byScope === undefined) {
      byScope = new Map<string | undefined, Selection>();
      selections.set(servers, byScope);
    }
    let selection = byScope.get(scope.only);
    if (selection === undefined) {
      selection = select(servers, scope);
      // A name that is not registered is not worth remembering: there are endlessly many.
      if (selection.chosen.length > 0) byScope.set(scope.only, selection);
    }
    return selection;
  };

  const ownerFor = (server: UpstreamServer, caller: Caller): string =>
    isPersonalList(server) ? ownerKeyOf(caller.principalId) : '';

  const standing = ({ server, lists }: Registered, owner: (server: UpstreamServer) => string): Standing => {
    if (isInvalid(server))
      return {
        name: server.name,
        server: undefined,
        list: undefined,
        state: 'invalid',
        reason: reasonOf(server),
      };
    const list = lists.get(owner(server));
    return { name: server.name, server, list, ...stateOf(server, list, owner(server)) };
  };

  const stateOf = (
    server: UpstreamServer,
    list: ToolList | undefined,
    owner: string,
  ): Pick<Standing, 'state' | 'reason'> => {
    const trouble = discovery.troubleOf(server, owner);
    const downReason = troubles.troubleOf(server)?.downReason;
    if (list !== undefined) {
      const reason = downReason ?? (trouble?.state === 'unavailable' ? trouble.reason : undefined);
      return { state: reason === undefined ? 'ok' : 'cached', reason };
    }
    if (downReason !== undefined && trouble?.state !== 'unavailable')
      return { state: 'unavailable', reason: downReason };
    if (needsPerson(server) && trouble?.state !== 'unavailable') {
      return {
        state: 'sign_in_required',
        reason: trouble?.state === 'sign_in_required' ? trouble.reason : 'Nobody has signed in yet.',
      };
    }
    if (trouble === undefined) return { state: 'unavailable', reason: 'It has not answered yet.' };
    return { state: trouble.state === 'pending' ? 'unavailable' : trouble.state, reason: trouble.reason };
  };

  const errorsOf = (server: UpstreamServer): readonly LastError[] =>
    [troubles.troubleOf(server)?.last, discovery.troubleOf(server, '')?.last, troubles.signIn.troubleOf(server)].filter(
      (last) => last !== undefined,
    );

  const standings = ({ chosen }: Selection, caller: Caller): readonly Standing[] =>
    chosen.map((one) => standing(one, (server) => ownerFor(server, caller)));

  const build = async (caller: Caller, scope: Scope, { version }: TenantServers, selection: Selection) => {
    const offer = await buildOffer(standings(selection, caller), scope.only === undefined);
    const kept = {
      version,
      offer,
      troubles: troublesOf(caller.tenantId),
      view: viewOf(offer, standings(selection, caller), self),
    };
    if (selection.isPersonal) personal.set(viewKey(caller, scope), kept);
    // What has changed meanwhile is built anew for whoever asks next.
    else if (registry.known(caller.tenantId)?.version === version) {
      const scopes = shared.get(caller.tenantId) ?? new Map<string | undefined, Kept>();
      shared.set(caller.tenantId, scopes.set(scope.only, kept));
    }
    return kept;
  };

  /** From memory, or a promise where it has to be built; undefined when the scope names nothing. */
  const current = (caller: Caller, scope: Scope, servers: TenantServers): View | undefined | Promise<View> => {
    const selection = selected(servers, scope);
    if (scope.only !== undefined && selection.chosen.length === 0) return undefined;
    const kept = selection.isPersonal
      ? personal.get(viewKey(caller, scope))
      : shared.get(caller.tenantId)?.get(scope.only);
    if (kept?.version !== servers.version) {
      const owner = selection.isPersonal ? caller.key : caller.tenantId;
      const key = `${owner}\u0000\u0000${scope.only ?? ''}\u0000${servers.version}`;
      return builds.run(key, () => build(caller, scope, servers, selection)).then(({ view }) => view);
    }
    const now = troublesOf(caller.tenantId);
    if (kept.troubles !== now) {
      kept.view = viewOf(kept.offer, standings(selection, caller), self);
      kept.troubles = now;
    }
    return kept.view;
  };

  /** Asks the servers whose list this caller lacks and could bring; settles when all were tried or time is up. */
  const discoverMissing = async (
    caller: Caller,
    scope: Scope,
    servers: TenantServers,
    signal: AbortSignal,
  ): Promise<void> => {
    const asked: Promise<void>[] = [];
    for (const { server, lists } of selected(servers, scope).chosen) {
      if (isInvalid(server)) continue;
      const owner = ownerFor(server, caller);
      const list = lists.get(owner);
      const isStale = list !== undefined && clock.now() - list.foundAt > STALE_MS;
      if (list !== undefined && !isStale) continue;
      // One that was waited for in vain is not waited for again by every list.
      const isWaitedFor = list === undefined && !discovery.isLate(server, owner, listDeadlineMs);
      const attempt = ask(server, owner, caller.principalId);
      if (isWaitedFor) asked.push(attempt);
    }
    if (asked.length === 0 || signal.aborted) return;
    const late = new AbortController();
    const cancel = clock.after(listDeadlineMs, () => late.abort());
    const left = new Promise<void>((resolve) => {
      late.signal.addEventListener('abort', () => resolve(), { once: true });
      signal.addEventListener('abort', () => resolve(), { once: true, signal: late.signal });
    });
    await Promise.race([Promise.all(asked), left]);
    cancel();
    late.abort();
  };

  const hasCredentialNow = async (server: UpstreamServer, principalId: PrincipalId): Promise<boolean> => {
    try {
      return await hasCredential(server, principalId);
    } catch {
      return false;
    }
  };

  const ask = async (server: UpstreamServer, owner: string, principalId: PrincipalId): Promise<void> => {
    const isPersons = server.credential?.owner === 'principal';
    // Nobody may be waiting for this, and what cannot be looked up now cannot be asked now.
    if (isPersons && !(await hasCredentialNow(server, principalId))) return;
    await discovery.ensure(server, owner, isPersons ? principalId : undefined);
  };

  const view: Catalog['view'] = async (caller, scope, signal) => {
    await discoverMissing(caller, scope, await registry.tenant(caller.tenantId), signal);
    return current(caller, scope, await registry.tenant(caller.tenantId));
  };

  const findFresh = async (
    caller: Caller,
    scope: Scope,
    name: string,
    signal: AbortSignal,
  ): Promise<Target | undefined> => (await view(caller, scope, signal))?.targets.get(name);

  return {
    view,
    find(caller, scope, name, signal) {
      const servers = registry.known(caller.tenantId);
      const now = servers === undefined ? undefined : current(caller, scope, servers);
      if (now instanceof Promise)
        return now.then((built) => built.targets.get(name) ?? findFresh(caller, scope, name, signal));
      return now?.targets.get(name) ?? findFresh(caller, scope, name, signal);
    },
    status(tenantId, name) {
      const registered = registry.known(tenantId)?.byName.get(name);
      if (registered === undefined) return { state: 'pending', reason: undefined, toolCount: 0, lastError: undefined };
      const { server } = registered;
      const { state, reason, list } = standing(registered, () => '');
      const isWaiting = state === 'sign_in_required' && !isInvalid(server);
      const why = (isWaiting ? troubles.signIn.troubleOf(server)?.sentence : undefined) ?? reason;
      const isOff = !isInvalid(server) && !server.enabled;
      return {
        ...inFull(state, why, isInvalid(server) ? [] : errorsOf(server)),
        ...(isOff ? { state: 'disabled' } : {}),
        toolCount: list?.tools.length ?? 0,
      };
    },
  };
}

const viewKey = ({ key }: Caller, { only }: Scope): string => `${key}\u0000\u0000${only ?? ''}`;

/** Each principal sees only what they found themselves. */
const isPersonalList = (server: UpstreamServer): boolean =>
  server.catalog === 'principal' && server.credential?.owner === 'principal';
