// What one caller sees on one endpoint: the merged tool list, kept as bytes, and the table by which a
// listed name finds its way back to its server.

import type { Implementation } from '../wire/envelope.ts';
import { META_SERVER_INFO } from '../wire/era.ts';
import { connectTool } from './connect-tool.ts';
import { compileGlobs } from './glob.ts';
import type { ToolList } from './registry.ts';
import type { ServerState } from './server-status.ts';
import type { Tool } from './tool.ts';
import { connectName, distinctName, exposedName } from './tool-name.ts';
import { needsPerson, type UpstreamServer } from './upstream-server.ts';

export type Target =
  | { readonly kind: 'tool'; readonly server: UpstreamServer; readonly tool: Tool }
  /** The stand-in that lets a person sign in. */
  | { readonly kind: 'connect'; readonly server: UpstreamServer };

/** One server as this caller stands to it. */
export interface Standing {
  readonly name: string;
  /** Undefined for a registered definition that does not hold. */
  readonly server: UpstreamServer | undefined;
  readonly list: ToolList | undefined;
  readonly state: ServerState;
  readonly reason: string | undefined;
}

export interface Page {
  readonly legacy: Buffer;
  readonly modern: Buffer;
}

export interface View {
  readonly targets: ReadonlyMap<string, Target>;
  /** The page behind a cursor; the first for undefined; undefined for a cursor that is not of this list. */
  page(cursor: string | undefined): Page | undefined;
  readonly bytes: number;
}

const PAGE_TOOLS = 2_500;
/** How long a modern agent may go by this list; not at all while someone can still sign in. */
const TTL_MS = 60_000;

export function buildView(standings: readonly Standing[], isPrefixed: boolean, self: Implementation): View {
  const targets = new Map<string, Target>();
  const listed: { name: string; json: string }[] = [];
  const isTaken = (name: string): boolean => targets.has(name);
  // First of all the stand-ins, so that no tool of a server can take the place of one.
  for (const { server, list } of standings) {
    if (server === undefined || !needsPerson(server)) continue;
    const wanted = connectName(server.prefix);
    const name = isTaken(wanted) ? distinctName(wanted, server.name, '') : wanted;
    targets.set(name, { kind: 'connect', server });
    if (list === undefined) listed.push({ name, json: JSON.stringify(connectTool(name, server)) });
  }
  const hasStandIn = listed.length > 0;
  const holders = prefixHolders(standings);
  for (const { server, list } of standings) {
    if (server === undefined) continue;
    const offers = compileOffer(server);
    for (const tool of list?.tools ?? []) {
      if (!offers(tool.name)) continue;
      const isShared = isPrefixed && holders.get(server.prefix) !== server.name;
      const name = exposedName(
        isPrefixed ? server.prefix : undefined,
        server.name,
        tool.name,
        (wanted) => isShared || isTaken(wanted),
      );
      if (isTaken(name)) continue;
      targets.set(name, { kind: 'tool', server, tool });
      listed.push({ name, json: JSON.stringify({ ...tool.definition, name }) });
    }
  }
  return paged(listed, targets, hasStandIn ? 0 : TTL_MS, JSON.stringify(serversMeta(standings)), JSON.stringify(self));
}

/**
 * The server that a prefix belongs to: of several the first by name, whether it has answered or not. A name
 * must not lead to one server now and to another when that one comes up.
 */
function prefixHolders(standings: readonly Standing[]): ReadonlyMap<string, string> {
  const holders = new Map<string, string>();
  for (const { server } of standings)
    if (server !== undefined && !holders.has(server.prefix)) holders.set(server.prefix, server.name);
  return holders;
}

function serversMeta(standings: readonly Standing[]): Record<string, unknown> {
  return Object.fromEntries(
    standings.map(({ name, state, reason }) => [name, reason === undefined ? { state } : { state, reason }]),
  );
}

function paged(
  listed: readonly { name: string; json: string }[],
  targets: ReadonlyMap<string, Target>,
  ttlMs: number,
  servers: string,
  self: string,
): View {
  const pages = new Map<string | undefined, Page>();
  let bytes = 0;
  for (let start = 0; start === 0 || start < listed.length; start += PAGE_TOOLS) {
    const part = listed.slice(start, start + PAGE_TOOLS);
    const last = part.at(-1)?.name;
    const next =
      start + PAGE_TOOLS < listed.length && last !== undefined
        ? `,"nextCursor":${JSON.stringify(cursorBehind(last))}`
        : '';
    const tools = `"tools":[${part.map(({ json }) => json).join(',')}]${next}`;
    const page = {
      legacy: Buffer.from(`{${tools},"_meta":{"keybearer/servers":${servers}}}`),
      modern: Buffer.from(
        `{"resultType":"complete",${tools},"ttlMs":${ttlMs},"cacheScope":"private","_meta":{"${META_SERVER_INFO}":${self},"keybearer/servers":${servers}}}`,
      ),
    };
    bytes += page.legacy.length + page.modern.length;
    const before = listed[start - 1];
    pages.set(before === undefined ? undefined : cursorBehind(before.name), page);
  }
  return { targets, page: (cursor) => pages.get(cursor), bytes };
}

/** Opaque to agents; by name, so that it still means the same after the list grew elsewhere. */
const cursorBehind = (name: string): string => Buffer.from(`behind:${name}`).toString('base64url');

function compileOffer(server: UpstreamServer): (name: string) => boolean {
  const only = server.only === undefined ? undefined : compileGlobs(server.only);
  const except = compileGlobs(server.except);
  return (name) => (only?.(name) ?? true) && !except(name);
}
