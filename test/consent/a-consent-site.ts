// The sign-in pages on a real port, with everything behind them in memory.

import type { AddressInfo } from 'node:net';
import express from 'express';
import { strictHeaders } from '../../src/agent/strict-headers.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { type ConsentDeps, createConsentRouter } from '../../src/consent/routes.ts';
import { type Owner, ownerKey } from '../../src/credential/credential.ts';
import { createSecretKeeper } from '../../src/credential/keep-secret.ts';
import { credentialContext } from '../../src/credential/seal-context.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import type { Tenant } from '../../src/identity/tenant-store.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { aPrincipal, aTenantId, aVault, InMemoryCredentials, InMemoryTickets } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { anyNumber } from '../support/limits.ts';
import { type MountedRoute, routesOf } from '../support/mounted-routes.ts';
import { Jar } from './a-jar.ts';
import { FakeFlows, FakeIdp } from './fake-sign-ins.ts';
import { InMemoryMismatches, InMemorySessions, InMemorySignIns } from './in-memory-browser.ts';

export interface ConsentSite extends AsyncDisposable {
  readonly origin: string;
  readonly clock: FakeClock;
  readonly credentials: InMemoryCredentials;
  readonly ticketRows: InMemoryTickets;
  readonly log: string[];
  /** What was done, in order: `tried`, `kept`, `signed in`. */
  readonly done: string[];
  readonly tenant: Tenant;
  readonly flows: FakeFlows;
  readonly idp: FakeIdp;
  readonly sessions: InMemorySessions;
  readonly signIns: InMemorySignIns;
  readonly routes: readonly MountedRoute[];
  /** Where signIn and limits may be changed behind the pages' back. */
  signIn: Tenant['signIn'];
  server: UpstreamServer | undefined;
  /** The path of a new link for this person. */
  link(principal?: string): Promise<string>;
  /** A browser of somebody's own. */
  jar(): Jar;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, secret: string, headers?: Record<string, string>): Promise<Response>;
  /** The key kept for the person, as the broker would open it. */
  keyOf(principal: string): Promise<string | undefined>;
}

export async function openConsentSite(
  server: UpstreamServer,
  overrides: Partial<ConsentDeps> & { tenant?: Partial<Tenant> } = {},
): Promise<ConsentSite> {
  const { tenant: tenantOverrides, ...deps } = overrides;
  const clock = new FakeClock();
  const vault = aVault();
  const credentials = new InMemoryCredentials();
  const ticketRows = new InMemoryTickets();
  const flows = new FakeFlows();
  const idp = new FakeIdp();
  const sessions = new InMemorySessions();
  const signIns = new InMemorySignIns();
  const log: string[] = [];
  const done: string[] = [];
  const tenant: Tenant = {
    id: aTenantId('acme'),
    name: 'Acme',
    signIn: { mode: 'link' },
    gatedDefault: false,
    limits: {},
    ...tenantOverrides,
  };
  const keeper = createSecretKeeper({ vault, credentials, clock });
  const app = express();
  const listener = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const origin = `http://127.0.0.1:${String((listener.address() as AddressInfo).port)}`;
  const tickets = createTickets({ store: ticketRows, clock, publicUrl: () => origin });

  const site: ConsentSite = {
    origin,
    clock,
    credentials,
    ticketRows,
    log,
    done,
    tenant,
    flows,
    idp,
    sessions,
    signIns,
    signIn: tenant.signIn,
    server,
    get routes() {
      return routesOf(app.router);
    },
    jar: () => new Jar(origin, () => clock.now()),
    link: async (principal = 'alice') =>
      new URL((await tickets.issue(tenant.id, aPrincipal(principal), server)).url).pathname,
    get: (path, headers = {}) => fetch(origin + path, { headers, redirect: 'manual' }),
    post: (path, secret, headers = {}) =>
      fetch(origin + path, { method: 'POST', body: new URLSearchParams({ secret }), headers, redirect: 'manual' }),
    async keyOf(principal) {
      const owner = ownerKey({ kind: 'principal', principalId: aPrincipal(principal) });
      const stored = await credentials.find(tenant.id, server.id, owner);
      if (stored === undefined) return undefined;
      return (
        await vault.open(tenant.id, credentialContext('secret', server.id, owner, stored.binding), stored.sealed)
      ).reveal();
    },
    async [Symbol.asyncDispose]() {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  const note = (step: string, { name }: UpstreamServer, owner: Owner): void => {
    done.push(`${step} ${name} ${ownerKey(owner)}`);
  };
  app.use(strictHeaders(deps.publicUrl ?? (() => origin)));
  app.use(
    createConsentRouter({
      tickets,
      findServer: async (_tenantId, id) => (site.server?.id === id ? site.server : undefined),
      findTenant: async (id) => (id === tenant.id ? { ...tenant, signIn: site.signIn } : undefined),
      keeper: {
        keep: (kept, owner, text) => {
          note('kept', kept, owner);
          return keeper.keep(kept, owner, text);
        },
      },
      tryKey: async (tried, owner) => {
        note('tried', tried, owner);
        return { ok: true, toolCount: 3 };
      },
      strangers: anyNumber,
      clients: { of: () => '127.0.0.1' },
      signedIn: async (signed, owner) => note('signed in', signed, owner),
      linkSignInAllowed: () => true,
      flows,
      personSignIn: idp,
      openSignInSecret: async (_tenantId, member, text) => new Secret(text.replace(`sealed:${member}:`, '')),
      hasIssuer: async () => false,
      sessions,
      signIns,
      mismatches: new InMemoryMismatches(),
      listServers: async () => (site.server === undefined ? [] : [site.server]),
      listCredentials: async () => [],
      disconnect: async (ended, principalId) => note('disconnected', ended, { kind: 'principal', principalId }),
      issueTicket: (wanted, principalId) => tickets.issue(tenant.id, principalId, wanted),
      publicUrl: () => origin,
      clock,
      logger: createLogger('debug', { write: (line) => void log.push(line) }),
      ...deps,
    }),
  );
  return site;
}
