// The real app in this process over a database of its own, with what a test needs to do as operator and as agent.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startApp } from '../../src/app.ts';
import type { App, AppOptions } from '../../src/app-options.ts';
import type { KeyProvider } from '../../src/credential/key-provider.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { parseTenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { LOOPBACK_ALLOWED } from './a-door.ts';
import type { Agent, AgentHeaders, AgentKind } from './agents/agent.ts';
import { connectAgent } from './agents/connect-agent.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import type { JsonObject } from './upstreams/message.ts';
import { within } from './within.ts';

export interface TestAppOptions {
  readonly limits?: Partial<AppOptions['limits']>;
  readonly http?: Partial<AppOptions['http']>;
  readonly operatorFile?: AppOptions['operatorFile'];
  readonly allowLinkSignIn?: boolean;
  readonly parentEnv?: AppOptions['parentEnv'];
  readonly clock?: Clock;
  /** Instead of a key of its own. */
  readonly masterKeys?: KeyProvider;
  readonly egress?: Partial<AppOptions['egress']>;
  readonly network?: AppOptions['network'];
  /** Told each line of the log, beside `lines`. */
  readonly onLine?: (line: string) => void;
  /** Another way to its database, such as through a proxy that counts. */
  readonly databaseUrl?: string;
  /** Another node of this app: same database, same keys. */
  readonly beside?: TestApp;
}

export interface AdminReply {
  readonly status: number;
  readonly body: JsonObject;
}

export interface KeyWishes {
  readonly principal?: string;
  readonly mayActFor?: '*' | readonly string[];
  readonly scopes?: readonly string[];
  readonly expiresAt?: string;
}

export interface AgentWishes {
  readonly key: string;
  readonly principal?: string;
  /** Default: `/mcp`. */
  readonly path?: string;
  readonly headers?: AgentHeaders;
}

export interface TestApp {
  readonly url: string;
  readonly adminKey: string;
  readonly databaseUrl: string;
  /** Every line that was logged, at whatever level. */
  readonly lines: readonly string[];
  readonly stopping: Promise<void> | undefined;
  admin(method: string, path: string, body?: unknown): Promise<AdminReply>;
  /** As `admin`, and throws unless the answer is good. */
  adminOk(method: string, path: string, body?: unknown): Promise<JsonObject>;
  tenant(id: string): Promise<void>;
  agentKey(tenant: string, wishes?: KeyWishes): Promise<string>;
  putServer(tenant: string, name: string, definition: JsonObject): Promise<JsonObject>;
  setSecret(tenant: string, server: string, principal: string, secret: string): Promise<void>;
  agent(kind: AgentKind, wishes: AgentWishes): Promise<Agent>;
  headers(wishes: AgentWishes): AgentHeaders;
  /** As somebody who writes the tables by hand. */
  sql(text: string, values?: readonly unknown[]): Promise<readonly JsonObject[]>;
  /** The operator's file says something new. */
  refresh(tenant: string): Promise<void>;
  stop(): Promise<void>;
}

/** Private to this file's apps: what nodes of one installation have in common. */
interface Installation {
  readonly database: TestDatabase;
  readonly masterKey: string;
  readonly adminKey: string;
}

const installations = new WeakMap<TestApp, Installation>();

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { beside } = options;
  const known = beside === undefined ? undefined : installations.get(beside);
  const installation = known ?? (await install());
  const lines: string[] = [];
  try {
    const app = await startApp(appOptions(options, installation, lines));
    const testApp = wrap(app, installation, lines, known === undefined);
    installations.set(testApp, installation);
    return testApp;
  } catch (error) {
    if (known === undefined) await installation.database.close();
    throw error;
  }
}

async function install(): Promise<Installation> {
  return {
    database: await createTestDatabase(),
    masterKey: randomBytes(32).toString('base64'),
    adminKey: `admin-${randomBytes(16).toString('hex')}`,
  };
}

function appOptions(options: TestAppOptions, installation: Installation, lines: string[]): AppOptions {
  const { database, masterKey, adminKey } = installation;
  return {
    version: '0.0.0-test',
    databaseUrl: options.databaseUrl ?? database.url,
    http: {
      host: '127.0.0.1',
      port: 0,
      publicUrl: undefined,
      allowedHosts: undefined,
      allowedOrigins: undefined,
      trustProxy: undefined,
      ...options.http,
    },
    masterKeys: options.masterKeys ?? createStaticKeyProvider([masterKey]),
    adminKey: new Secret(adminKey),
    egress: { ...LOOPBACK_ALLOWED, ...options.egress },
    ...(options.network === undefined ? {} : { network: options.network }),
    limits: {
      idleTimeoutMs: 300_000,
      listDeadlineMs: 5_000,
      signInWaitMs: 120_000,
      maxConnectionsPerTenant: 2_000,
      maxCommandsPerTenant: 64,
      requestsPerSecondPerTenant: undefined,
      requestsPerSecondPerPrincipal: undefined,
      ...options.limits,
    },
    allowLinkSignIn: options.allowLinkSignIn ?? false,
    operatorFile: options.operatorFile ?? (() => undefined),
    parentEnv: options.parentEnv ?? { PATH: process.env['PATH'] },
    clock: options.clock ?? systemClock,
    logger: createLogger('trace', {
      write: (line) => {
        lines.push(line);
        options.onLine?.(line);
      },
    }),
  };
}

function wrap(
  app: App,
  { database, adminKey }: Installation,
  lines: readonly string[],
  ownsDatabase: boolean,
): TestApp {
  let stopping: Promise<void> | undefined;
  const admin: TestApp['admin'] = async (method, path, body) => {
    const response = await fetch(`${app.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as JsonObject };
  };
  const adminOk: TestApp['adminOk'] = async (method, path, body) => {
    const reply = await admin(method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const headers: TestApp['headers'] = ({ key, principal, headers: more }) => ({
    authorization: `Bearer ${key}`,
    ...(principal === undefined ? {} : { 'keybearer-principal': principal }),
    ...more,
  });
  return {
    url: app.url,
    adminKey,
    databaseUrl: database.url,
    lines,
    get stopping() {
      return stopping;
    },
    admin,
    adminOk,
    headers,
    tenant: async (id) => {
      await adminOk('POST', '/tenants', { id });
    },
    agentKey: async (tenant, wishes = { mayActFor: '*' }) =>
      String((await adminOk('POST', `/tenants/${tenant}/keys`, { name: 'test', ...wishes }))['key']),
    putServer: (tenant, name, definition) => adminOk('PUT', `/tenants/${tenant}/servers/${name}`, definition),
    setSecret: async (tenant, server, principal, secret) => {
      const path = `/tenants/${tenant}/servers/${server}/credentials/${encodeURIComponent(principal)}`;
      await adminOk('PUT', path, { secret });
    },
    agent: (kind, wishes) =>
      within(connectAgent(kind, `${app.url}${wishes.path ?? '/mcp'}`, headers(wishes)), 'the agent to connect'),
    sql: (text, values) => query(database.url, text, values),
    refresh: async (tenant) => {
      const id = parseTenantId(tenant);
      if (id !== undefined) await app.refresh(id);
    },
    stop() {
      stopping ??= stop(app, ownsDatabase ? database : undefined);
      return stopping;
    },
  };
}

async function stop(app: App, database: TestDatabase | undefined): Promise<void> {
  try {
    await within(app.stop(), 'the app to stop', 20_000);
  } finally {
    await database?.close();
  }
}

async function query(url: string, text: string, values: readonly unknown[] = []): Promise<readonly JsonObject[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
