// Prompts and resources of one server under its own names, or of all servers under names that tell whose they are; and
// the way back from an agent's word to the server it means.
import type { Scope } from '../catalog/catalog.ts';
import { cursorBehind, nameIn } from '../catalog/cursor.ts';
import { type Item, readItem, type ToldApart, toldApart } from '../catalog/item-view.ts';
import { ITEMS, type ItemKind } from '../catalog/list-kind.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import { type ServerState, serversMeta } from '../catalog/server-status.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { comesFrom } from '../catalog/uri-template.ts';
import type { Caller } from '../identity/caller.ts';
import { isAllowed, isFiltered, isRestricted } from '../policy/allowed.ts';
import { ProxyError } from '../shared/errors.ts';
import type { JsonObject } from '../wire/reply.ts';
import { type Forward, NO_METHOD } from './forward.ts';
import type { OfferedItems, OfferItems } from './offered-items.ts';
import type { CompletionRef, ItemOperations, Page } from './operations.ts';
import type { ServerItemsOf } from './server-items.ts';

export interface ItemOperationsDeps {
  readonly registry: Registry;
  readonly offerItems: OfferItems;
  readonly itemsOf: ServerItemsOf;
  readonly forward: Forward;
  /** The same for lists, which many agents ask for before anybody wants anything: nobody is asked to sign in. */
  readonly forwardQuietly: Forward;
}

const PAGE_ITEMS = 1_000;
const PAGE_BYTES = 2 * 1024 * 1024;

/** A server, and its own word for what the agent means. */
interface Meant {
  readonly server: UpstreamServer;
  readonly own: string;
}

type Find = (caller: Caller, kind: ItemKind, word: string, signal: AbortSignal) => Promise<Meant | undefined>;

export function createItemOperations(deps: ItemOperationsDeps): ItemOperations {
  const { registry, offerItems, itemsOf, forward, forwardQuietly } = deps;

  const serverNamed = async (caller: Caller, name: string): Promise<UpstreamServer | undefined> => {
    const found = (await registry.tenant(caller.tenantId)).byName.get(name)?.server;
    return found === undefined || isInvalid(found) || !found.enabled ? undefined : found;
  };

  /** The one server of the scope. Throws `not_found`; undefined for a scope of all. */
  const only = async (caller: Caller, { only: name }: Scope): Promise<UpstreamServer | undefined> => {
    if (name === undefined) return undefined;
    const server = await serverNamed(caller, name);
    if (server === undefined) throw new ProxyError('not_found', 'There is no such server.');
    return server;
  };

  /** Throws `not_found` for what is not offered to agents. */
  const offered = (kind: ItemKind, word: string, meant: Meant | undefined): Meant => {
    if (meant === undefined || !isAllowed(meant.server, kind, meant.own)) throw unknown(kind, word);
    return meant;
  };

  const toldApartServer = async (caller: Caller, { serverName, own }: ToldApart): Promise<Meant | undefined> => {
    const server = await serverNamed(caller, serverName);
    return server === undefined ? undefined : { server, own };
  };

  const amongAll: Find = async (caller, kind, word, signal) => {
    const told = kind === 'prompts' ? undefined : toldApart(word);
    if (told !== undefined) return toldApartServer(caller, told);
    return (await offerItems(caller, kind, signal)).view.get(word);
  };

  /**
   * A resource that is listed, or one that may come from a template. What no list has, such as a link in a result, can only
   * be meant for the one server that may have resources at all.
   */
  const resourceAmongAll: Find = async (caller, _kind, uri, signal) => {
    const told = toldApart(uri);
    if (told !== undefined) return toldApartServer(caller, told);
    const { view, mayHave } = await offerItems(caller, 'resources', signal);
    const listed = view.get(uri);
    if (listed !== undefined || uri.startsWith('keybearer:')) return listed;
    const [server, another] = mayHave;
    const sole = server !== undefined && another === undefined ? { server, own: uri } : undefined;
    return fromTemplates(await offerItems(caller, 'templates', signal), uri) ?? sole;
  };

  const meantBy = async (
    caller: Caller,
    scope: Scope,
    kind: ItemKind,
    word: string,
    signal: AbortSignal,
    find: Find = amongAll,
  ): Promise<Meant> => {
    const server = await only(caller, scope);
    return offered(kind, word, server === undefined ? await find(caller, kind, word, signal) : { server, own: word });
  };

  const resourceMeant = (caller: Caller, scope: Scope, uri: string, signal: AbortSignal): Promise<Meant> =>
    meantBy(caller, scope, 'resources', uri, signal, resourceAmongAll);

  return {
    async listItems(caller, request, signal) {
      const { kind, scope, params } = request;
      const server = await only(caller, scope);
      if (server === undefined) return pageOf(kind, await offerItems(caller, kind, signal), params['cursor']);
      const { method, member, capability } = ITEMS[kind];
      try {
        if (isFiltered(server, kind))
          return pageOfOne(server, kind, await itemsOf(server, caller.principalId, kind, signal));
        const list = { ...request, method, needs: capability, without: { [member]: [] }, isCacheable: true };
        return await forwardQuietly(caller, server, list, signal);
      } catch (error) {
        if (!(error instanceof ProxyError) || error.code !== 'sign_in_required') throw error;
        return pageOfOne(server, kind, [], 'sign_in_required', error.message);
      }
    },

    async getPrompt(caller, request, signal) {
      const { server, own } = await meantBy(caller, request.scope, 'prompts', request.name, signal);
      const params = { ...request.params, name: own };
      return forward(
        caller,
        server,
        { ...request, method: 'prompts/get', params, name: own, needs: 'prompts' },
        signal,
      );
    },

    async readResource(caller, request, signal) {
      const { server, own } = await resourceMeant(caller, request.scope, request.uri, signal);
      const params = { ...request.params, uri: own };
      return forward(
        caller,
        server,
        { ...request, method: 'resources/read', params, name: own, needs: 'resources', isCacheable: true },
        signal,
      );
    },

    async complete(caller, request, signal) {
      const { ref } = request;
      const { server, own } = await completed(caller, request.scope, ref, signal);
      const named = ref.type === 'ref/prompt' ? { name: own } : { uri: own };
      const params = { ...request.params, ref: { ...(request.params['ref'] as JsonObject), ...named } };
      return forward(
        caller,
        server,
        { ...request, method: 'completion/complete', params, needs: 'completions', without: NO_VALUES },
        signal,
      );
    },

    async pass(caller, request, signal) {
      const server = await only(caller, request.scope);
      // What an admin has not looked through may do what they meant to keep from agents.
      if (server === undefined || isRestricted(server)) return undefined;
      const answer = await forward(caller, server, { ...request, isOfOneEra: true }, signal);
      return answer === NO_METHOD ? undefined : answer;
    },
  };

  async function completed(caller: Caller, scope: Scope, ref: CompletionRef, signal: AbortSignal): Promise<Meant> {
    if (ref.type === 'ref/prompt') return meantBy(caller, scope, 'prompts', ref.name, signal);
    if (scope.only !== undefined) return meantBy(caller, scope, 'templates', ref.uri, signal);
    const template = await amongAll(caller, 'templates', ref.uri, signal);
    return template ?? resourceMeant(caller, scope, ref.uri, signal);
  }
}

const NO_VALUES: JsonObject = { completion: { values: [] } };

function pageOfOne(
  server: UpstreamServer,
  kind: ItemKind,
  all: readonly string[],
  state: ServerState = 'ok',
  reason?: string,
): Page {
  const items = all.filter((text) => isOffered(server, kind, text));
  return {
    kind: 'page',
    member: ITEMS[kind].member,
    items,
    nextCursor: undefined,
    meta: { 'keybearer/servers': serversMeta([{ name: server.name, state, reason }]) },
  };
}

function isOffered(server: UpstreamServer, kind: ItemKind, text: string): boolean {
  const read = readItem(ITEMS[kind], text);
  return read !== undefined && isAllowed(server, kind, read.key);
}

function fromTemplates({ view }: OfferedItems, uri: string): Meant | undefined {
  for (const { server, own } of view.values()) if (comesFrom(uri, own)) return { server, own: uri };
  return undefined;
}

/** Throws `invalid_request` for a cursor that is not of this list. */
function pageOf(kind: ItemKind, { view, servers }: OfferedItems, cursor: unknown): Page {
  const all = [...view.values()];
  const from = cursor === undefined ? 0 : placeBehind(all, cursor);
  let bytes = 0;
  let to = from;
  for (; to < all.length && to - from < PAGE_ITEMS && bytes < PAGE_BYTES; to++) bytes += all[to]?.json.length ?? 0;
  const last = all[to - 1];
  return {
    kind: 'page',
    member: ITEMS[kind].member,
    items: all.slice(from, to).map(({ json }) => json),
    nextCursor: to < all.length && last !== undefined ? cursorBehind(last.exposed) : undefined,
    meta: { 'keybearer/servers': servers },
  };
}

function placeBehind(all: readonly Item[], cursor: unknown): number {
  const name = typeof cursor === 'string' ? nameIn(cursor) : undefined;
  const at = name === undefined ? -1 : all.findIndex(({ exposed }) => exposed === name);
  if (at < 0) throw new ProxyError('invalid_request', 'This cursor is not of this list; start again without one.');
  return at + 1;
}

const unknown = (kind: ItemKind, word: string): ProxyError =>
  new ProxyError(
    'not_found',
    `There is no ${ITEMS[kind].one} ${JSON.stringify(word.slice(0, 200))}; list the ${ITEMS[kind].many} again.`,
  );
