// The real thing that the model is compared with: two nodes over one database, an upstream of each era and
// transport behind a cable that can be cut, and agents by hand.
import { fileURLToPath } from 'node:url';
import type { OperatorFile } from '../../src/catalog/operator-file.ts';
import { parseOperatorFile } from '../../src/catalog/operator-file.ts';
import type { EventStream } from '../support/agents/event-stream.ts';
import { connectRaw, type RawAgent } from '../support/agents/raw-agent.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { startKeyedServer } from '../support/upstreams/keyed-server.ts';
import type { Seen } from '../support/upstreams/keyed-state.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { type Cable, openCable } from './cable.ts';
import { type Far, ownTools } from './far.ts';
import {
  COMMAND,
  COMMAND_TENANT,
  type HttpName,
  LABELS,
  type Label,
  nameOf,
  PRINCIPAL_CATALOGS,
  SERVERS,
  TENANTS,
  type TenantName,
  tenantOf,
} from './model.ts';
import { startOldUpstream } from './old-upstream.ts';

export const KINDS = ['rawLegacy', 'rawModern'] as const;
export type Kind = (typeof KINDS)[number];
export const NODES = [0, 1] as const;

/** Those of the upstreams' tools that are called here. */
export const TOOLS = ['whoami', 'slow', 'progress'] as const;
export type Tool = (typeof TOOLS)[number];

/** One agent of one person at one node. */
export interface Seat {
  readonly label: Label;
  readonly kind: Kind;
  readonly node: number;
}

export interface AgentKey {
  readonly id: string;
  readonly text: string;
}

export interface Listening {
  readonly stream: EventStream;
  /** The id that every message of a modern one has to name. */
  readonly subscription: unknown;
  /** So many of its events were looked at. */
  judged: number;
}

const read = parseOperatorFile(
  JSON.stringify({
    tenant: COMMAND_TENANT,
    mcpServers: {
      [COMMAND]: {
        command: process.execPath,
        args: [fileURLToPath(new URL('command.mjs', import.meta.url))],
        credential: { owner: 'principal', kind: 'secret', env: 'API_KEY' },
      },
    },
  }),
  {},
);
const operatorFile = (): OperatorFile | undefined => (read.ok ? read.file : undefined);

export class Upstream {
  readonly server: Far;
  readonly cable: Cable;
  readonly #executed = new Map<Tool, number>();

  constructor(server: Far, cable: Cable) {
    this.server = server;
    this.cable = cable;
  }

  /** What it saw since this was asked last. */
  takeSeen(): readonly Seen[] {
    // It is the server's own list, which ends at some length; taken out, nothing of it is missed.
    return (this.server.seen as Seen[]).splice(0);
  }

  /** How often the tool ran since this was asked last. */
  takeExecuted(tool: Tool): number {
    const all = this.server.executed.get(tool) ?? 0;
    const fresh = all - (this.#executed.get(tool) ?? 0);
    this.#executed.set(tool, all);
    return fresh;
  }
}

export class World {
  readonly upstreams: Readonly<Record<HttpName, Upstream>>;
  /** Owns the database; never stopped before the end. */
  readonly #base: TestApp;
  #restartable: TestApp;
  readonly #agentKeys: Record<TenantName, AgentKey>;
  readonly #streams = new Map<string, Listening>();
  readonly #agents = new Map<string, Promise<RawAgent>>();
  /** Of nodes that were stopped. */
  readonly #oldLines: string[] = [];
  readonly #definitions = new Map<string, JsonObject>();
  #questions = 0;

  private constructor(
    base: TestApp,
    restartable: TestApp,
    upstreams: World['upstreams'],
    keys: Record<TenantName, AgentKey>,
  ) {
    this.#base = base;
    this.#restartable = restartable;
    this.upstreams = upstreams;
    this.#agentKeys = keys;
  }

  static async open(): Promise<World> {
    const base = await startTestApp({ operatorFile });
    const legacy = await openUpstream(startKeyedServer({ era: 'legacy', ownTools }));
    const modern = await openUpstream(startKeyedServer({ era: 'modern', ownTools }));
    const upstreams = { legacy, modern, twin: legacy, old: await openUpstream(startOldUpstream()) };
    const none = { id: '', text: '' };
    const keys = { alpha: none, beta: none, gamma: none };
    const world = new World(base, await startTestApp({ beside: base, operatorFile }), upstreams, keys);
    for (const tenant of TENANTS) await world.found(0, tenant);
    return world;
  }

  /** A tenant with its servers and a key for its agents, as new. */
  async found(node: number, tenant: TenantName): Promise<void> {
    await this.node(node).tenant(tenant);
    for (const server of SERVERS) {
      this.#definitions.delete(`${tenant} ${server}`);
      await this.edit(node, tenant, server, {});
    }
    await this.renewAgentKey(node, tenant);
  }

  /** Agents come with a new key from now on; gives the one before, which is as it was. */
  async renewAgentKey(node: number, tenant: TenantName): Promise<AgentKey> {
    const before = this.#agentKeys[tenant];
    const { id, key } = await this.node(node).adminOk('POST', `/tenants/${tenant}/keys`, { name: 'k', mayActFor: '*' });
    this.#agentKeys[tenant] = { id: String(id), text: String(key) };
    return before;
  }

  agentKey(tenant: TenantName): AgentKey {
    return this.#agentKeys[tenant];
  }

  /** How a request with this key alone is answered: 400, as it has no session, or 401. */
  async statusWith(node: number, { text }: AgentKey, more: Record<string, string> = {}): Promise<number> {
    const headers = { authorization: `Bearer ${text}`, 'keybearer-principal': 'ann', accept: 'text/event-stream' };
    const response = await fetch(`${this.node(node).url}/mcp`, { headers: { ...headers, ...more } });
    await response.body?.cancel();
    return response.status;
  }

  node(node: number): TestApp {
    return node === 0 ? this.#restartable : this.#base;
  }

  /** Every line that any node logged. */
  get lines(): readonly string[] {
    return [...this.#oldLines, ...this.#base.lines, ...this.#restartable.lines];
  }

  /** A number that no other question of this world has. */
  nextQuestion(): number {
    return ++this.#questions;
  }

  /** Connects when needed. */
  agent({ label, kind, node }: Seat): Promise<RawAgent> {
    const key = seatKey({ label, kind, node });
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const headers = {
      authorization: `Bearer ${this.#agentKeys[tenantOf(label)].text}`,
      'keybearer-principal': nameOf(label),
    };
    const agent = within(connectRaw(kind, `${this.node(node).url}/mcp`, headers), `${key} to connect`);
    this.#agents.set(key, agent);
    return agent;
  }

  /** Politely, or as an agent that crashes. */
  async leave(seat: Seat, isPolite: boolean): Promise<void> {
    const agent = await this.#agents.get(seatKey(seat));
    this.#agents.delete(seatKey(seat));
    this.unlisten(seat);
    if (agent === undefined) return;
    if (!isPolite) agent.session = undefined;
    await agent.close();
  }

  /** Whether this seat hears anything now. */
  isListening(seat: Seat): boolean {
    return this.#streams.has(seatKey(seat));
  }

  async listen(seat: Seat): Promise<void> {
    const agent = await this.agent(seat);
    const { body, headers } = agent.compose('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const response = await (agent.kind === 'rawModern' ? agent.post(body, headers) : agent.get());
    if (response.stream === undefined) throw new Error(`${seatKey(seat)} may not listen: ${response.status}`);
    const subscription = agent.kind === 'rawModern' ? body['id'] : undefined;
    this.#streams.set(seatKey(seat), { stream: response.stream, subscription, judged: 0 });
  }

  unlisten(seat: Seat): EventStream | undefined {
    const known = this.#streams.get(seatKey(seat));
    this.#streams.delete(seatKey(seat));
    known?.stream.close();
    return known?.stream;
  }

  get streams(): ReadonlyMap<string, Listening> {
    return this.#streams;
  }

  /** Every seat of some people at some nodes. */
  async empty(holds: (seat: Seat) => boolean): Promise<void> {
    for (const label of LABELS)
      for (const kind of KINDS)
        for (const node of NODES) if (holds({ label, kind, node })) await this.leave({ label, kind, node }, false);
  }

  async restart(): Promise<void> {
    await this.empty(({ node }) => node === 0);
    await this.#restartable.stop();
    this.#oldLines.push(...this.#restartable.lines);
    this.#restartable = await startTestApp({ beside: this.#base, operatorFile });
  }

  /** Of one origin where the upstream is the same, so that nothing but the registration tells them apart. */
  urlOf(server: HttpName): string {
    return new URL(`/${server}`, this.upstreams[server].cable.url).href;
  }

  /** Changes some members of a server's definition. */
  async edit(node: number, tenant: TenantName, server: HttpName, change: JsonObject): Promise<void> {
    const usual = {
      type: server === 'old' ? 'sse' : 'http',
      url: this.urlOf(server),
      credential: { owner: 'principal', kind: 'secret' },
      catalog: PRINCIPAL_CATALOGS.includes(server) ? 'principal' : 'shared',
    };
    const definition = { ...(this.#definitions.get(`${tenant} ${server}`) ?? usual), ...change };
    this.#definitions.set(`${tenant} ${server}`, definition);
    await this.node(node).putServer(tenant, server, definition);
  }

  async close(): Promise<void> {
    for (const { stream } of this.#streams.values()) stream.close();
    const agents = await Promise.allSettled(this.#agents.values());
    for (const agent of agents)
      if (agent.status === 'fulfilled') await within(agent.value.close(), 'an agent to leave').catch(() => {});
    try {
      await this.#restartable.stop();
    } finally {
      await this.#base.stop();
      for (const { server, cable } of new Set(Object.values(this.upstreams))) {
        await cable.close();
        await server.close();
      }
    }
  }
}

const seatKey = ({ label, kind, node }: Seat): string => `${label} ${kind} ${node}`;

async function openUpstream(starting: Promise<Far>): Promise<Upstream> {
  const server = await starting;
  return new Upstream(server, await openCable(server.url));
}
