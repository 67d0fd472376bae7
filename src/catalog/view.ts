// What one caller sees on one endpoint: the merged tool list, kept as bytes, and the table by which a
// listed name finds its way back to its server. There may be tens of megabytes of it: it is put together in pieces.

import { startBreathing } from '../shared/breathe.ts';
import type { Implementation } from '../wire/envelope.ts';
import { META_SERVER_INFO } from '../wire/era.ts';
import type { Parts } from '../wire/reply.ts';
import { connectTool } from './connect-tool.ts';
import { cursorBehind } from './cursor.ts';
import { compileGlobs } from './glob.ts';
import type { ToolList } from './registry.ts';
import { type ServerState, serversMeta } from './server-status.ts';
import { listedText, type Tool } from './tool.ts';
import { connectName, distinctName, exposedName, prefixHolders } from './tool-name.ts';
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
  readonly legacy: Parts;
  readonly modern: Parts;
}

type Targets = ReadonlyMap<string, Target>;

/** What is offered, whatever the state of the servers; it changes with their lists and definitions alone. */
export interface Offer {
  readonly targets: Targets;
  /** By cursor; of each page its tools as JSON text, and where the next one begins. */
  readonly pages: ReadonlyMap<string | undefined, Parts>;
  /** Someone can still sign in. */
  readonly hasStandIn: boolean;
  readonly bytes: number;
}

export interface View {
  readonly targets: Targets;
  /** The page behind a cursor; the first for undefined; undefined for a cursor that is not of this list. */
  page(cursor: string | undefined): Page | undefined;
}

const PAGE_TOOLS = 2_500;
/** How long a modern agent may go by this list; not at all while someone can still sign in. */
const TTL_MS = 60_000;
/** Steps of a pattern that take as long as a byte of text. */
const STEPS_PER_BYTE = 8;
const PART_CHARS = 64 * 1024;

/** Takes as long as there is text, and lets everybody else's turn come in between. */
export async function buildOffer(standings: readonly Standing[], isPrefixed: boolean): Promise<Offer> {
  const targets = new Map<string, Target>();
  const pages = new PageWriter();
  const breathe = startBreathing();
  const isTaken = (name: string): boolean => targets.has(name);
  // First of all the stand-ins, so that no tool of a server can take the place of one.
  let hasStandIn = false;
  for (const { server, list } of standings) {
    if (server === undefined || !needsPerson(server)) continue;
    const wanted = connectName(server.prefix);
    const name = isTaken(wanted) ? distinctName(wanted, server.name, '') : wanted;
    targets.set(name, { kind: 'connect', server });
    if (list !== undefined) continue;
    hasStandIn = true;
    pages.add(name, JSON.stringify(connectTool(name, server)));
  }
  const holders = prefixHolders(standings.map(({ server }) => server).filter((server) => server !== undefined));
  for (const { server, list } of standings) {
    if (server === undefined) continue;
    const offers = compileOffer(server);
    for (const tool of list?.tools ?? []) {
      const turn = breathe(offers.cost * tool.name.length);
      if (turn !== undefined) await turn;
      if (!offers.holds(tool.name)) continue;
      const isShared = isPrefixed && holders.get(server.prefix) !== server.name;
      const name = exposedName(
        isPrefixed ? server.prefix : undefined,
        server.name,
        tool.name,
        (wanted) => isShared || isTaken(wanted),
      );
      if (isTaken(name)) continue;
      targets.set(name, { kind: 'tool', server, tool });
      const json = listedText(name, tool);
      pages.add(name, json);
      const next = breathe(json.length);
      if (next !== undefined) await next;
    }
  }
  return { targets, hasStandIn, ...pages.end() };
}

/** What is offered, with how each server stands now. */
export function viewOf(offer: Offer, standings: readonly Standing[], self: Implementation): View {
  const servers = JSON.stringify(serversMeta(standings));
  const legacy = `,"_meta":{"keybearer/servers":${servers}}}`;
  const ttlMs = offer.hasStandIn ? 0 : TTL_MS;
  const modern = `,"ttlMs":${ttlMs},"cacheScope":"private","_meta":{"${META_SERVER_INFO}":${JSON.stringify(self)},"keybearer/servers":${servers}}}`;
  return {
    targets: offer.targets,
    page(cursor) {
      const tools = offer.pages.get(cursor);
      if (tools === undefined) return undefined;
      return { legacy: ['{', ...tools, legacy], modern: ['{"resultType":"complete",', ...tools, modern] };
    },
  };
}

/** Gathers the text of tools in pages, each as parts of some size: one text of all would be copied at once. */
class PageWriter {
  readonly #pages = new Map<string | undefined, Parts>();
  #cursor: string | undefined;
  #parts: Buffer[] = [];
  #text = '"tools":[';
  #tools = 0;
  #last = '';
  #bytes = 0;

  add(name: string, json: string): void {
    if (this.#tools === PAGE_TOOLS) {
      const next = cursorBehind(this.#last);
      this.#close(`],"nextCursor":${JSON.stringify(next)}`);
      this.#cursor = next;
      this.#text = '"tools":[';
    }
    this.#text += this.#tools === 0 ? json : `,${json}`;
    this.#tools++;
    this.#last = name;
    if (this.#text.length > PART_CHARS) this.#cut();
  }

  end(): Pick<Offer, 'pages' | 'bytes'> {
    this.#close(']');
    return { pages: this.#pages, bytes: this.#bytes };
  }

  #close(end: string): void {
    this.#text += end;
    this.#cut();
    this.#pages.set(this.#cursor, this.#parts);
    this.#parts = [];
    this.#tools = 0;
  }

  #cut(): void {
    const part = Buffer.from(this.#text);
    this.#text = '';
    this.#parts.push(part);
    this.#bytes += part.length;
  }
}

interface Offers {
  holds(name: string): boolean;
  /** For each character of a name, in bytes of text; none where a pattern is compared but once. */
  readonly cost: number;
}

function compileOffer(server: UpstreamServer): Offers {
  const only = server.only === undefined ? undefined : compileGlobs(server.only);
  const except = compileGlobs(server.except);
  return {
    holds: (name) => (only?.(name) ?? true) && !except(name),
    cost: [...(server.only ?? []), ...server.except].reduce(
      (sum, pattern) => sum + (/\*./.test(pattern) ? pattern.length / STEPS_PER_BYTE : 0),
      0,
    ),
  };
}
