// The parts list: the only place that builds things and hands each part just what it needs. What is
// opened last is closed first.
import { createDirectory } from './admin/directory.ts';
import { createLiveConnections } from './admin/live-connections.ts';
import { createAdminRouter } from './admin/router.ts';
import { createGatekeeper } from './agent/gatekeeper.ts';
import { createHttpApp } from './agent/http.ts';
import { Listeners } from './agent/listeners.ts';
import { createMcpEndpoint } from './agent/mcp-endpoint.ts';
import { createMethods } from './agent/methods.ts';
import { principalHeaderOf } from './agent/principal-header.ts';
import { challengeFor } from './agent/protected-resource.ts';
import { listenForAgents } from './agent/server.ts';
import { Sessions } from './agent/sessions.ts';
import type { App, AppOptions } from './app-options.ts';
import { createCatalog, type HasCredential } from './catalog/catalog.ts';
import { createDiscovery } from './catalog/discovery.ts';
import { findFirstTools } from './catalog/first-tools.ts';
import { createHttpRule, isLoopbackHost } from './catalog/http-rule.ts';
import { createLoadServers } from './catalog/load-servers.ts';
import { createRegistry } from './catalog/registry.ts';
import { Pool } from './connection/pool.ts';
import { retireOutdated } from './connection/retire-outdated.ts';
import { createConsentRouter } from './consent/routes.ts';
import { announced } from './credential/announced.ts';
import { createCredentialBroker } from './credential/broker.ts';
import { ownerKey } from './credential/credential.ts';
import { createDefinitionSecrets } from './credential/definition-secrets.ts';
import { createSecretKeeper } from './credential/keep-secret.ts';
import { createStaticKeyProvider } from './credential/key-provider.ts';
import { createTickets } from './credential/tickets.ts';
import { createVault } from './credential/vault.ts';
import { hashAgentKey } from './identity/agent-key.ts';
import { announcedIssuers, announcedKeys, announcedTenants } from './identity/announced.ts';
import { createAuthenticator } from './identity/authenticate.ts';
import { createCallTool } from './proxy/call-tool.ts';
import { createConnectTool } from './proxy/connect-tool.ts';
import { createToolSource } from './proxy/discover-tools.ts';
import { createKeyTrial } from './proxy/key-trial.ts';
import { createSignedIn } from './proxy/signed-in.ts';
import { createWaitForSignIn } from './proxy/wait-for-sign-in.ts';
import { createWatchLists } from './proxy/watch-lists.ts';
import { createWithUpstream, keyNotTaken } from './proxy/with-upstream.ts';
import { createShaper } from './result/shape.ts';
import type { Change } from './shared/changes.ts';
import { type PrincipalId, parseTenantId } from './shared/id.ts';
import { Lifecycle } from './shared/lifecycle.ts';
import { createAgentKeyStore } from './store/agent-keys.ts';
import { createCatalogStore } from './store/catalogs.ts';
import { openChangeFeed } from './store/change-feed.ts';
import { createCredentialStore } from './store/credentials.ts';
import { createDataKeyStore } from './store/data-keys.ts';
import { openDatabase } from './store/database.ts';
import { createIssuerStore } from './store/issuers.ts';
import { createServerStore } from './store/servers.ts';
import { createTenantStore } from './store/tenants.ts';
import { createTicketStore } from './store/tickets.ts';
import { createDial } from './upstream/dial.ts';
import { openDoor } from './upstream/egress/dispatcher.ts';
import { createDoorFetch } from './upstream/egress/door-fetch.ts';
import { createEraMemory } from './upstream/era-probe.ts';
import { fetchJson } from './upstream/fetch-json.ts';
import { createHttpDial } from './upstream/http-dial.ts';
import { createSseDial } from './upstream/sse-link.ts';
import { createStdioDial } from './upstream/stdio-link.ts';

const DATABASE_CONNECTIONS = 10;
const SOCKETS_PER_ORIGIN = 256;
const GRACE_MS = 10_000;

/** Builds, listens, and finds the first tools in the background. The database is migrated already. */
export async function startApp(options: AppOptions): Promise<App> {
  const { clock, logger, limits } = options;
  const self = { name: 'keybearer', version: options.version };
  const life = new Lifecycle();
  let isStopping = false;
  let publicUrl = options.http.publicUrl ?? '';
  const publicUrlNow = (): string => publicUrl;
  const ownerKeyOf = (principalId: PrincipalId): string => ownerKey({ kind: 'principal', principalId });
  try {
    // What is remembered
    const database = openDatabase({ url: options.databaseUrl, maxConnections: DATABASE_CONNECTIONS, clock, logger });
    life.onClose('database', () => database.close());
    const changes = await openChangeFeed(options.databaseUrl, clock, logger);
    life.onClose('change feed', () => changes.close());
    const announce = (change: Change): void => changes.announce(change);
    const tenants = announcedTenants(createTenantStore(database), announce);
    const issuers = announcedIssuers(createIssuerStore(database), announce);
    const keys = announcedKeys(createAgentKeyStore(database), announce);
    const servers = createServerStore(database);
    const credentials = createCredentialStore(database);
    const vault = createVault({
      masterKeys: createStaticKeyProvider(options.masterKeys.map((key) => key.reveal())),
      dataKeys: createDataKeyStore(database),
    });

    // The one way out, and the links over it
    const doorRules = { connectTimeoutMs: 10_000, allow: () => undefined };
    const dispatcher = openDoor({ ...doorRules, socketsPerOrigin: SOCKETS_PER_ORIGIN });
    life.onClose('door', () => dispatcher.destroy());
    // A stream keeps its socket: as many as there are connections that listen, and none of them a call's.
    const streams = openDoor({ ...doorRules, socketsPerOrigin: null });
    life.onClose('door for streams', () => streams.destroy());
    const door = { dispatcher, streams, clock };
    const dial = createDial({
      http: createHttpDial({ door, eras: createEraMemory(clock), client: self }),
      sse: createSseDial({ clock, logger, client: self, fetch: createDoorFetch(streams) }),
      stdio: createStdioDial({ clock, logger, client: self, parentEnv: options.parentEnv }),
    });

    // Who is asking, what is there, with whose key, over which wire
    const authenticator = createAuthenticator({
      keys,
      issuers,
      tenants,
      fetchJson: (url, signal) => fetchJson(door, url, signal),
      audience: publicUrlNow,
      clock,
      changes,
      logger,
    });
    life.onClose('authenticator', () => authenticator.close());
    const secretsOf = createDefinitionSecrets(vault);
    const mayUseHttp = createHttpRule(options.egress);
    const loadServers = createLoadServers({
      store: servers,
      secretsOf,
      gatedDefault: async (tenantId) => (await tenants.find(tenantId))?.gatedDefault,
      file: options.operatorFile,
      defaults: { defaultIdleTimeoutMs: limits.idleTimeoutMs, mayUseHttp },
      logger,
    });
    const registry = createRegistry({ loadServers, catalogs: createCatalogStore(database), changes, clock, logger });
    life.onClose('registry', () => registry.close());
    const tickets = createTickets({ store: createTicketStore(database), clock, publicUrl: publicUrlNow });
    const broker = createCredentialBroker({ credentials, vault, tickets, changes, logger });
    life.onClose('broker', () => broker.close());
    const keeper = announced(createSecretKeeper({ vault, credentials, clock }), announce);
    const pool = new Pool({ dial, clock, logger, maxPerTenant: limits.maxConnectionsPerTenant });
    life.onClose('connections', () => pool.close());
    life.onClose(
      'outdated connections',
      retireOutdated({
        pool,
        registry,
        changes,
        versionOf: async (tenantId, serverId, owner) => (await credentials.find(tenantId, serverId, owner))?.version,
        logger,
      }),
    );

    // The path of a request
    const withUpstream = createWithUpstream({
      broker,
      pool,
      askSignIn: (server, principalId) => broker.askSignIn(server, principalId),
      onUnreachable: (server) => void discovery.doubt(server),
    });
    const discovering = createWithUpstream({
      broker,
      pool,
      askSignIn: (server) => Promise.resolve(keyNotTaken(server)),
    });
    const discovery = createDiscovery({
      source: createToolSource({ withUpstream: discovering, clock }),
      registry,
      clock,
      logger,
      random: Math.random,
    });
    life.onClose('discovery', () => discovery.close());
    const hasCredential: HasCredential = async (server, principalId) =>
      (await broker.find(server, principalId)) !== undefined;
    const catalog = createCatalog({
      registry,
      discovery,
      hasCredential,
      ownerKeyOf,
      self,
      listDeadlineMs: limits.listDeadlineMs,
      clock,
    });
    const watch = createWatchLists({ pool, discovery, registry, broker, clock, logger });
    life.onClose('list watch', () => watch.close());
    const connect = createConnectTool({
      broker,
      waitForSignIn: createWaitForSignIn({ broker, changes, clock, waitMs: limits.signInWaitMs }),
    });
    const operations = {
      callTool: createCallTool({ catalog, connect, withUpstream, shaper: createShaper(self), clock }),
      listTools: catalog.view,
    };

    // The edges
    const signedIn = createSignedIn(discovery, registry);
    const listeners = new Listeners({ registry, changes, ownerKeyOf, clock, onInterest: watch.interest });
    life.onClose('listeners', () => listeners.close());
    const sessions = new Sessions(clock);
    life.onClose('sessions', () => sessions.close());
    const mcp = createMcpEndpoint({
      authenticate: (request, route) =>
        authenticator.authenticate({
          authorization: request.headers.authorization,
          principalHeader: principalHeaderOf(request),
          pathTenant: route.tenant,
        }),
      challenge: (request, route, error) =>
        challengeFor(publicUrl, route, error, request.headers.authorization !== undefined),
      methods: createMethods(operations, self),
      sessions,
      listeners,
      logger,
      isStopping: () => isStopping,
    });
    const admin = createAdminRouter({
      adminKey: options.adminKey,
      findAgentKey: (keyText) => keys.findByHash(hashAgentKey(keyText)),
      tenants,
      issuers,
      keys,
      servers,
      directory: createDirectory(registry, catalog),
      definitions: { secretsOf, mayUseHttp },
      credentials,
      keeper,
      signedIn,
      connections: createLiveConnections(pool),
      tickets,
      vault,
      clock,
      logger,
    });
    const consent = createConsentRouter({
      tickets,
      findServer: registry.find,
      findTenant: (tenantId) => tenants.find(tenantId),
      keeper,
      tryKey: createKeyTrial(dial),
      signedIn,
      linkSignInAllowed: () => options.allowLinkSignIn || isLoopbackHost(new URL(publicUrl).hostname),
      publicUrl: publicUrlNow,
      clock,
      logger,
    });
    const issuersOf = async (tenant: string | undefined): Promise<readonly string[]> => {
      const tenantId = tenant === undefined ? undefined : parseTenantId(tenant);
      return tenantId === undefined ? [] : (await issuers.list(tenantId)).map(({ issuer }) => issuer);
    };
    const app = createHttpApp({
      publicUrl: publicUrlNow,
      issuersOf,
      isReady: async () =>
        !isStopping &&
        (await database.query('SELECT 1').then(
          () => true,
          () => false,
        )),
      admin,
      consent,
      logger,
    });
    const gatekeeper = createGatekeeper({
      publicUrl: publicUrlNow,
      allowedHosts: options.http.allowedHosts,
      allowedOrigins: options.http.allowedOrigins,
    });
    const server = await listenForAgents({ gatekeeper, mcp, app, clock }, options.http.host, options.http.port);
    life.onClose('server', () => server.close());
    if (publicUrl === '') publicUrl = server.url;
    void findFirstTools(servers.listTenantIds(), registry, logger);

    return {
      url: server.url,
      publicUrl,
      refresh: (tenantId) => registry.refresh(tenantId),
      async stop() {
        isStopping = true;
        server.stopAccepting();
        listeners.close();
        await server.drained(GRACE_MS);
        await life.close();
      },
    };
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}
