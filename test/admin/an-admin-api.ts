// The admin API on a real port, with everything behind it in memory and a real vault.

import type { AddressInfo } from 'node:net';
import express from 'express';
import type { AdminDeps, LiveConnection, RegisteredServer } from '../../src/admin/ports.ts';
import { createAdminRouter } from '../../src/admin/router.ts';
import { parseDefinition } from '../../src/catalog/definition.ts';
import { openDefinition } from '../../src/catalog/sealed-definition.ts';
import type { ServerRow } from '../../src/catalog/server-store.ts';
import type { SignInPlace } from '../../src/credential/authorization-server.ts';
import { ownerKey } from '../../src/credential/credential.ts';
import { createDefinitionSecrets } from '../../src/credential/definition-secrets.ts';
import { createImportGrant } from '../../src/credential/import-grant.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { createSecretKeeper } from '../../src/credential/keep-secret.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import type { Vault } from '../../src/credential/vault.ts';
import { createApiKeyVerifier } from '../../src/identity/api-key-verifier.ts';
import type { AgentKey, Issuer, Tenant } from '../../src/identity/tenant-store.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { aTenantId, aVault, InMemoryCredentials, InMemoryTickets } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { anyNumber } from '../support/limits.ts';

const A_PLACE: SignInPlace = {
  issuer: 'https://as.example',
  authorizationEndpoint: 'https://as.example/authorize',
  tokenEndpoint: 'https://as.example/token',
  registrationEndpoint: undefined,
  revocationEndpoint: undefined,
  takesMetadataDocument: false,
  answersWithIssuer: false,
  tokenAuthMethods: undefined,
  resource: 'https://files.example/mcp',
  scopes: ['files'],
  offersOfflineAccess: false,
};

export const OPERATOR_KEY = 'operator-key-canary-1d0f';

export interface Reply {
  readonly status: number;
  readonly type: string | null;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface AdminApi extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly vault: Vault;
  readonly deps: AdminDeps;
  readonly tenants: Map<string, Tenant>;
  readonly issuers: Issuer[];
  readonly keys: AgentKey[];
  readonly rows: ServerRow[];
  readonly files: ServerRow[];
  readonly live: (LiveConnection & { tenantId: TenantId })[];
  readonly credentials: InMemoryCredentials;
  readonly ticketRows: InMemoryTickets;
  readonly signedIn: string[];
  readonly disconnected: string[];
  /** What was asked of the keys at rest. */
  readonly rotated: string[];
  readonly log: string[];
  /** Everything that was answered so far. */
  readonly answers: string[];
  send(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string | undefined; headers?: Record<string, string> },
  ): Promise<Reply>;
  /** Makes a tenant, and an admin key for it. */
  tenant(id: string): Promise<string>;
}

export async function openAdminApi(): Promise<AdminApi> {
  const clock = new FakeClock();
  const vault = aVault();
  const credentials = new InMemoryCredentials();
  const ticketRows = new InMemoryTickets();
  const tenants = new Map<string, Tenant>();
  const issuers: Issuer[] = [];
  const keys: AgentKey[] = [];
  const rows: ServerRow[] = [];
  const files: ServerRow[] = [];
  const live: AdminApi['live'] = [];
  const [signedIn, disconnected, log, answers]: [string[], string[], string[], string[]] = [[], [], [], []];
  const rotated: string[] = [];
  let registered: (RegisteredServer & { tenantId: TenantId })[] = [];
  let revision = 0;
  const secretsOf = createDefinitionSecrets(vault);
  const register = async (
    row: ServerRow,
    source: 'table' | 'file',
  ): Promise<RegisteredServer & { tenantId: TenantId }> => {
    const definition = await openDefinition(row.definition, secretsOf(row.tenantId, row.name).open);
    const result = parseDefinition({ ...row, definition, source });
    const server = result.ok ? result.server : undefined;
    const status = result.ok
      ? ({ state: 'pending', reason: undefined, toolCount: 0, lastError: undefined } as const)
      : ({ state: 'invalid', reason: 'does not hold', toolCount: 0, lastError: undefined } as const);
    return { ...row, source, server, problems: result.ok ? [] : result.problems, status };
  };
  const removeWhere = <T>(list: T[], gone: (item: T) => boolean): boolean => {
    const index = list.findIndex(gone);
    if (index >= 0) list.splice(index, 1);
    return index >= 0;
  };

  const deps: AdminDeps = {
    adminKey: new Secret(OPERATOR_KEY),
    strangers: anyNumber,
    clients: { of: () => '127.0.0.1' },
    findAgentKey: (text) => createApiKeyVerifier(deps.keys, clock).find(text),
    tenants: {
      list: async (after, limit) => {
        const ids = [...tenants.keys()].sort().filter((id) => after === undefined || id > after);
        const items = ids.slice(0, limit).flatMap((id) => tenants.get(id) ?? []);
        return { items, next: ids.length > limit ? ids[limit - 1] : undefined };
      },
      find: async (id) => tenants.get(id),
      create: async (tenant) => (tenants.has(tenant.id) ? undefined : tenants.set(tenant.id, tenant).get(tenant.id)),
      update: async (id, change) => {
        const old = tenants.get(id);
        return old && tenants.set(id, { ...old, ...change }).get(id);
      },
      remove: async (id) => tenants.delete(id),
    },
    issuers: {
      list: async (tenantId) => issuers.filter((issuer) => issuer.tenantId === tenantId),
      findByIssuer: async (text) => issuers.filter(({ issuer }) => issuer === text),
      put: async (issuer) => {
        removeWhere(issuers, (old) => old.tenantId === issuer.tenantId && old.issuer === issuer.issuer);
        issuers.push(issuer);
      },
      remove: async (tenantId, text) =>
        removeWhere(issuers, ({ tenantId: owner, issuer }) => owner === tenantId && issuer === text),
    },
    keys: {
      list: async (tenantId) => keys.filter((key) => key.tenantId === tenantId),
      findByHash: async (hash) => keys.find(({ keyHash }) => keyHash.equals(hash)),
      create: async (key) => void keys.push(key),
      remove: async (tenantId, id) => removeWhere(keys, (key) => key.tenantId === tenantId && key.id === id),
    },
    servers: {
      list: async (tenantId) => rows.filter((row) => row.tenantId === tenantId),
      put: async (tenantId, name, definition, enabled) => {
        const id =
          rows.find((row) => row.tenantId === tenantId && row.name === name)?.id ??
          (`id-${tenantId}-${name}` as ServerId);
        removeWhere(rows, (row) => row.id === id);
        const row = { tenantId, id, name, definition, enabled, revision: String(++revision) };
        rows.push(row);
        return row;
      },
      remove: async (tenantId, name) => removeWhere(rows, (row) => row.tenantId === tenantId && row.name === name),
    },
    directory: {
      find: (tenantId, name) => registered.find((server) => server.tenantId === tenantId && server.name === name),
      list: (tenantId) => registered.filter((server) => server.tenantId === tenantId),
      refresh: async () => {
        registered = await Promise.all([
          ...rows.map((row) => register(row, 'table')),
          ...files.map((row) => register(row, 'file')),
        ]);
      },
    },
    definitions: {
      secretsOf,
      addressRule: (url) => (url.startsWith('https:') ? undefined : 'must start with https://'),
    },
    credentials,
    keeper: createSecretKeeper({ vault, credentials, clock }),
    redirectUri: ({ id }) => `https://px.test/oauth/callback/${id}`,
    importGrant: createImportGrant({
      authorizationServersOf: () => ({ discover: async () => A_PLACE }),
      clients: { forSignIn: async () => ({ clientId: 'us', authentication: { kind: 'none' } }) },
      keeper: createGrantKeeper({ vault, credentials }),
      announce: () => undefined,
      clock,
    }),
    disconnect: async ({ tenantId, id }, owner) => {
      disconnected.push(`${tenantId} ${id} ${ownerKey(owner)}`);
      return (await credentials.remove(tenantId, id, ownerKey(owner))) !== undefined;
    },
    signedIn: async (server, owner) => void signedIn.push(`${server.tenantId} ${server.name} ${JSON.stringify(owner)}`),
    connections: {
      list: (tenantId) => live.filter((connection) => connection.tenantId === tenantId),
      end: (tenantId, id) =>
        removeWhere(live, (connection) => connection.tenantId === tenantId && connection.id === id),
    },
    tickets: createTickets({ store: ticketRows, clock, publicUrl: () => 'https://px.test' }),
    linkSignInAllowed: () => true,
    vault,
    keysAtRest: {
      masterKeys: async () => [{ id: 'm1', isCurrent: true, isKnown: true, wraps: 2 }],
      dataKeys: async (tenantId) => [{ id: `k-${tenantId}`, isCurrent: true, createdAt: 0, seals: 3 }],
      rotate: async (tenantId) => void rotated.push(`rotate ${tenantId}`),
      shred: async (tenantId) => void rotated.push(`shred ${tenantId}`),
    },
    clock,
    logger: createLogger('debug', { write: (line) => void log.push(line) }),
  };

  const listener = express().use('/admin/v1', createAdminRouter(deps)).listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const base = `http://127.0.0.1:${String((listener.address() as AddressInfo).port)}/admin/v1`;

  const api: AdminApi = {
    clock,
    vault,
    deps,
    tenants,
    issuers,
    keys,
    rows,
    files,
    live,
    credentials,
    ticketRows,
    signedIn,
    disconnected,
    rotated,
    log,
    answers,
    async send(method, path, body, options = {}) {
      const key = 'key' in options ? options.key : OPERATOR_KEY;
      const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const init = { method, headers: { ...authorization, ...content, ...options.headers } };
      const response = await fetch(
        base + path,
        body === undefined ? init : { ...init, body: typeof body === 'string' ? body : JSON.stringify(body) },
      );
      const text = await response.text();
      answers.push(text);
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        headers: response.headers,
        text,
        json: text === '' ? {} : (JSON.parse(text) as Reply['json']),
      };
    },
    async tenant(id) {
      const made = await api.send('POST', '/tenants', { id });
      if (made.status !== 201) throw new Error(made.text);
      const key = await api.send('POST', `/tenants/${id}/keys`, { name: 'admin', scopes: [`admin:${aTenantId(id)}`] });
      // What the API just answered.
      return key.json['key'] as string;
    },
    async [Symbol.asyncDispose]() {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return api;
}

export const problemsOf = (reply: Reply): readonly string[] => {
  const problems = reply.json['problems'] as readonly { path: string }[] | undefined;
  return (problems ?? []).map(({ path }) => path);
};
