// One app for the tests of a file, a tenant for each test, and everything that a test opened closed behind it.
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Agent, AgentKind } from './agents/agent.ts';
import { connectRaw, type RawAgent } from './agents/raw-agent.ts';
import { type KeyWishes, startTestApp, type TestApp, type TestAppOptions } from './app.ts';
import { type BadMode, type BadServer, type BadServerOptions, startBadServer } from './upstreams/bad-server.ts';
import type { KeyedServerOptions } from './upstreams/keyed-options.ts';
import { type KeyedServer, startKeyedServer } from './upstreams/keyed-server.ts';
import type { JsonObject } from './upstreams/message.ts';
import { type OfferingOptions, startOffering } from './upstreams/offering-server.ts';
import { within } from './within.ts';

interface Closable {
  close(): Promise<void>;
}

export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];

/** Agents by hand, which see every byte, in either era. */
export const RAW_KINDS = ['rawLegacy', 'rawModern'] as const;
export type RawKind = (typeof RAW_KINDS)[number];

/** Every pairing of an agent's era with a server's. */
export const PAIRINGS = RAW_KINDS.flatMap((agent) => ERAS.map((upstream) => ({ agent, upstream })));

/** Keys that each keyed server of a scene takes. */
export const KEYS = [
  ['key-ada', 'ada'],
  ['key-bob', 'bob'],
] as const;

export interface TenantSide {
  readonly id: string;
  /** An agent key that may act for anyone. */
  readonly key: string;
  put(name: string, definition: JsonObject): Promise<JsonObject>;
  status(name: string): Promise<JsonObject>;
  setSecret(server: string, principal: string, secret: string): Promise<void>;
  agent(kind: AgentKind, principal?: string, path?: string): Promise<Agent>;
  raw(kind: RawKind, principal?: string, path?: string): Promise<RawAgent>;
}

export class Scene {
  readonly #options: TestAppOptions;
  readonly #opened: Closable[] = [];
  #app: TestApp | undefined;
  #tenants = 0;

  constructor(options: TestAppOptions) {
    this.#options = options;
  }

  get app(): TestApp {
    if (this.#app === undefined) throw new Error('The scene has not begun');
    return this.#app;
  }

  async begin(): Promise<void> {
    this.#app = await startTestApp(this.#options);
  }

  async end(): Promise<void> {
    await this.clear();
    await this.#app?.stop();
  }

  /** Closes what the test opened, last opened first; an agent whose app is gone may fail to say goodbye. */
  async clear(): Promise<void> {
    for (const one of this.#opened.splice(0).reverse()) await within(one.close(), 'something to close').catch(() => {});
  }

  later(close: () => Promise<void>): void {
    this.#opened.push({ close });
  }

  async keep<T extends Closable>(opening: Promise<T>): Promise<T> {
    const opened = await opening;
    this.#opened.push(opened);
    return opened;
  }

  keyed(era: Era, options: Partial<KeyedServerOptions> = {}): Promise<KeyedServer> {
    return this.keep(startKeyedServer({ era, keys: KEYS, ...options }));
  }

  /** A keyed server that wants no key. */
  open(era: Era, options: Partial<KeyedServerOptions> = {}): Promise<KeyedServer> {
    return this.keyed(era, { requireKey: false, ...options });
  }

  /** A server with prompts, resources and completion, which wants a key unless told otherwise. */
  offering(era: Era, options: Partial<OfferingOptions> = {}): Promise<KeyedServer> {
    return this.keep(startOffering({ era, keys: KEYS, ...options }));
  }

  bad(mode: BadMode, options?: BadServerOptions): Promise<BadServer> {
    return this.keep(startBadServer(mode, options));
  }

  /** Another node over the same database. */
  async node(options: TestAppOptions = {}): Promise<TestApp> {
    const node = await startTestApp({ ...this.#options, ...options, beside: this.app });
    this.later(() => node.stop());
    return node;
  }

  /** A tenant of its own with these servers and an agent key. */
  async tenant(servers: Readonly<Record<string, JsonObject>> = {}, wishes?: KeyWishes): Promise<TenantSide> {
    const id = `tenant-${++this.#tenants}`;
    await this.app.tenant(id);
    const side = this.side(id, await this.app.agentKey(id, wishes));
    for (const [name, definition] of Object.entries(servers)) await side.put(name, definition);
    return side;
  }

  /** The same tenant as seen through a node. */
  side(id: string, key: string, app: TestApp = this.app): TenantSide {
    return {
      id,
      key,
      put: (name, definition) => app.putServer(id, name, definition),
      status: (name) => app.adminOk('GET', `/tenants/${id}/servers/${name}`),
      setSecret: (server, principal, secret) => app.setSecret(id, server, principal, secret),
      agent: (kind, principal = 'ada', path = '/mcp') => this.keep(app.agent(kind, { key, principal, path })),
      raw: (kind, principal = 'ada', path = '/mcp') =>
        this.keep(within(connectRaw(kind, `${app.url}${path}`, app.headers({ key, principal })), 'the agent')),
    };
  }
}

/** Call at the top of a test file, or of a `describe`. */
export function useScene(options: TestAppOptions = {}): Scene {
  const scene = new Scene(options);
  beforeAll(() => scene.begin());
  afterEach(() => scene.clear());
  afterAll(() => scene.end());
  return scene;
}

/** Each person pastes a key of their own. */
export const withKeys = ({ url }: { readonly url: string }, more: JsonObject = {}): JsonObject => ({
  url,
  credential: { owner: 'principal', kind: 'secret' },
  ...more,
});

/** Nobody needs a key. */
export const without = ({ url }: { readonly url: string }, more: JsonObject = {}): JsonObject => ({ url, ...more });
