// The real thing that the model is compared with: two nodes over one database, an upstream of each era
// behind a cable that can be cut, and agents by hand.
import { connectRaw, type RawAgent } from '../support/agents/raw-agent.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type KeyedServer, startKeyedServer } from '../support/upstreams/keyed-server.ts';
import type { Seen } from '../support/upstreams/keyed-state.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { type Cable, openCable } from './cable.ts';
import { LABELS, type Label, nameOf, SERVERS, type ServerName, TENANTS, type TenantName, tenantOf } from './model.ts';

export const KINDS = ['rawLegacy', 'rawModern'] as const;
export type Kind = (typeof KINDS)[number];
export const NODES = [0, 1] as const;

/** Those of the upstreams' tools that are called here. */
export const TOOLS = ['whoami', 'slow'] as const;
export type Tool = (typeof TOOLS)[number];

/** One agent of one person at one node. */
export interface Seat {
  readonly label: Label;
  readonly kind: Kind;
  readonly node: number;
}

export class Upstream {
  readonly server: KeyedServer;
  readonly cable: Cable;
  readonly #executed = new Map<Tool, number>();

  constructor(server: KeyedServer, cable: Cable) {
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
  readonly upstreams: Readonly<Record<ServerName, Upstream>>;
  /** Owns the database; never stopped before the end. */
  readonly #base: TestApp;
  #restartable: TestApp;
  readonly #agentKeys: Readonly<Record<TenantName, string>>;
  readonly #agents = new Map<string, Promise<RawAgent>>();
  /** Of nodes that were stopped. */
  readonly #oldLines: string[] = [];
  readonly #definitions = new Map<string, JsonObject>();
  #questions = 0;

  private constructor(
    base: TestApp,
    restartable: TestApp,
    upstreams: World['upstreams'],
    keys: Record<TenantName, string>,
  ) {
    this.#base = base;
    this.#restartable = restartable;
    this.upstreams = upstreams;
    this.#agentKeys = keys;
  }

  static async open(): Promise<World> {
    const base = await startTestApp();
    const [legacy, modern] = [await openUpstream('legacy'), await openUpstream('modern')];
    const upstreams = { legacy, modern, twin: legacy };
    for (const tenant of TENANTS) await base.tenant(tenant);
    const keys = { alpha: await base.agentKey('alpha'), beta: await base.agentKey('beta') };
    const world = new World(base, await startTestApp({ beside: base }), upstreams, keys);
    for (const tenant of TENANTS) for (const server of SERVERS) await world.edit(0, tenant, server, {});
    return world;
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
      authorization: `Bearer ${this.#agentKeys[tenantOf(label)]}`,
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
    if (agent === undefined) return;
    if (!isPolite) agent.session = undefined;
    await agent.close();
  }

  async restart(): Promise<void> {
    for (const label of LABELS) for (const kind of KINDS) await this.leave({ label, kind, node: 0 }, false);
    await this.#restartable.stop();
    this.#oldLines.push(...this.#restartable.lines);
    this.#restartable = await startTestApp({ beside: this.#base });
  }

  /** Of one origin where the upstream is the same, so that nothing but the registration tells them apart. */
  urlOf(server: ServerName): string {
    return new URL(`/${server}`, this.upstreams[server].cable.url).href;
  }

  /** Changes some members of a server's definition. */
  async edit(node: number, tenant: TenantName, server: ServerName, change: JsonObject): Promise<void> {
    const usual = { url: this.urlOf(server), credential: { owner: 'principal', kind: 'secret' } };
    const definition = { ...(this.#definitions.get(`${tenant} ${server}`) ?? usual), ...change };
    this.#definitions.set(`${tenant} ${server}`, definition);
    await this.node(node).putServer(tenant, server, definition);
  }

  async close(): Promise<void> {
    const agents = await Promise.allSettled(this.#agents.values());
    for (const agent of agents) if (agent.status === 'fulfilled') await agent.value.close().catch(() => {});
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

async function openUpstream(era: 'legacy' | 'modern'): Promise<Upstream> {
  const server = await startKeyedServer({ era });
  return new Upstream(server, await openCable(server.url));
}
