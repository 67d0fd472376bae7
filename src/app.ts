// The parts list: the only place that builds things and hands each part just what it needs. What is
// opened last is closed first.
import { createDirectory } from './admin/directory.ts';
import { createLiveConnections } from './admin/live-connections.ts';
import { createAdminRouter } from './admin/router.ts';
import { toAuthenticationRequest } from './agent/authentication-request.ts';
import { createGatekeeper } from './agent/gatekeeper.ts';
import { createHttpApp } from './agent/http.ts';
import { Listeners } from './agent/listeners.ts';
import { createMcpEndpoint } from './agent/mcp-endpoint.ts';
import { challengeFor } from './agent/protected-resource.ts';
import { listenForAgents } from './agent/server.ts';
import { Sessions } from './agent/sessions.ts';
import { createCredentialParts } from './app-credentials.ts';
import { createFairness } from './app-fairness.ts';
import { createLinks } from './app-links.ts';
import { createAgentMethods } from './app-methods.ts';
import type { App, AppOptions } from './app-options.ts';
import { createPages } from './app-pages.ts';
import { createVaultParts } from './app-vault.ts';
import { createCallTroubles } from './catalog/call-troubles.ts';
import { createCatalog, type HasCredential } from './catalog/catalog.ts';
import { createDiscovery } from './catalog/discovery.ts';
import { findFirstTools } from './catalog/first-tools.ts';
import { createLoadServers } from './catalog/load-servers.ts';
import { isLoopbackHost } from './catalog/loopback-host.ts';
import { createRegistry } from './catalog/registry.ts';
import { Pool } from './connection/pool.ts';
import { retireOutdated } from './connection/retire-outdated.ts';
import { ownerKey } from './credential/credential.ts';
import { createDefinitionSecrets } from './credential/definition-secrets.ts';
import { announcedIssuers, announcedKeys, announcedTenants } from './identity/announced.ts';
import { createApiKeyVerifier } from './identity/api-key-verifier.ts';
import { createAuthenticator } from './identity/authenticate.ts';
import { createIssuersOf } from './identity/issuers-of.ts';
import { createAskForCredential } from './proxy/ask-for-credential.ts';
import { createAskSignIn } from './proxy/ask-sign-in.ts';
import { createConnectTool } from './proxy/connect-tool.ts';
import { createToolSource } from './proxy/discover-tools.ts';
import { createRequestStates } from './proxy/request-state.ts';
import { createSignInDone } from './proxy/sign-in-done.ts';
import { createSignedIn } from './proxy/signed-in.ts';
import { createSignInWaits } from './proxy/wait-for-sign-in.ts';
import { createWatchLists } from './proxy/watch-lists.ts';
import { createWithUpstream, keyNotTaken } from './proxy/with-upstream.ts';
import type { Change } from './shared/changes.ts';
import type { PrincipalId } from './shared/id.ts';
import { Lifecycle } from './shared/lifecycle.ts';
import { createAgentKeyStore } from './store/agent-keys.ts';
import { createCatalogStore } from './store/catalogs.ts';
import { openChangeFeed } from './store/change-feed.ts';
import { openDatabase } from './store/database.ts';
import { createIssuerStore } from './store/issuers.ts';
import { requireRowSecurity } from './store/row-security.ts';
import { createServerStore } from './store/servers.ts';
import { createTenantStore } from './store/tenants.ts';

const DATABASE_CONNECTIONS = 10;
const GRACE_MS = 10_000;

/** Builds, listens, and finds the first tools in the background. The database is migrated already. */
export async function startApp(options: AppOptions): Promise<App> {
  const { clock, logger, limits } = options;
  const self = { name: 'keybearer', version: options.version };
  const life = new Lifecycle();
  let isStopping = false;
  let publicUrl = options.http.publicUrl ?? '';
  let ownPort: number | undefined;
  const publicUrlNow = (): string => publicUrl;
  const linkSignInAllowed = (): boolean => options.allowLinkSignIn || isLoopbackHost(new URL(publicUrl).hostname);
  const ownerKeyOf = (principalId: PrincipalId): string => ownerKey({ kind: 'principal', principalId });
  try {
    // What is remembered
    const database = openDatabase({ url: options.databaseUrl, maxConnections: DATABASE_CONNECTIONS, clock, logger });
    life.onClose('database', () => database.close());
    await requireRowSecurity(database);
    const changes = await openChangeFeed(options.databaseUrl, clock, logger);
    life.onClose('change feed', () => changes.close());
    const announce = (change: Change): void => changes.announce(change);
    const tenants = announcedTenants(createTenantStore(database), announce);
    const issuers = announcedIssuers(createIssuerStore(database), announce);
    const keys = announcedKeys(createAgentKeyStore(database), announce);
    const agentKeys = createApiKeyVerifier(keys, clock);
    const servers = createServerStore(database);
    const { masterKeys, vault, keysAtRest } = await createVaultParts(options, database, changes, life);

    const fair = createFairness(options, tenants, changes, life);
    const { clients, counted, limitsOf, shares, sockets, strangers } = fair;
    const links = createLinks({ ...options, publicUrl: publicUrlNow, ownPort: () => ownPort, limitsOf, changes }, life);
    const { dial, fetchJson, addressRule } = links;
    // Who is asking, what is there, with whose key, over which wire
    const authenticator = createAuthenticator({
      keys,
      issuers,
      tenants: { find: fair.findTenant },
      fetchJson,
      strangers,
      audience: publicUrlNow,
      clock,
      changes,
      logger,
    });
    life.onClose('authenticator', () => authenticator.close());
    const secretsOf = createDefinitionSecrets(vault);
    const loadServers = createLoadServers({
      store: servers,
      secretsOf,
      gatedDefault: async (tenantId) => (await tenants.find(tenantId))?.gatedDefault,
      file: options.operatorFile,
      defaults: { defaultIdleTimeoutMs: limits.idleTimeoutMs, addressRule },
      logger,
    });
    const registry = createRegistry({ loadServers, catalogs: createCatalogStore(database), changes, clock, logger });
    life.onClose('registry', () => registry.close());
    const troubles = createCallTroubles({ registry, clock, logger, doubt: (server) => void discovery.doubt(server) });
    const credentialParts = createCredentialParts({
      signInTroubles: troubles.signIn,
      database,
      changes,
      announce,
      vault,
      masterKeys,
      fetchOf: links.fetchOf,
      mayUseHttp: (url) => addressRule(url) === undefined,
      registry,
      subjectTokenOf: (tenantId, principalId) => authenticator.subjectTokenOf(tenantId, principalId),
      publicUrl: publicUrlNow,
      life,
      clock,
      logger,
    });
    const { broker, credentials, tickets, keeper } = credentialParts;
    const pool = new Pool({ dial, clock, logger, limitsOf });
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
    const { listDeadlineMs } = limits;
    const askForCredential = createAskForCredential({ broker, scopes: credentialParts.scopes, clock });
    const withUpstream = createWithUpstream({ broker, pool, askForCredential, onEnd: troubles });
    const discovering = createWithUpstream({
      broker,
      pool,
      askForCredential: (server) => Promise.resolve(keyNotTaken(server)),
      onEnd: { worked: troubles.worked },
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
      troubles,
      hasCredential,
      ownerKeyOf,
      self,
      listDeadlineMs,
      clock,
    });
    const watch = createWatchLists({ pool, discovery, registry, broker, clock, logger });
    life.onClose('list watch', () => watch.close());
    const waits = createSignInWaits({ broker, changes, limitsOf, clock });
    life.onClose('waits for sign-ins', () => waits.stop());
    // Nobody's call hangs on these, and they leave the calls their room.
    const noticeWaits = createSignInWaits({ broker, changes, limitsOf, clock });
    life.onClose('notices of sign-ins', () => noticeWaits.stop());
    const askSignIn = createAskSignIn({
      broker,
      waits,
      states: createRequestStates(vault, clock),
      clock,
      waitMs: limits.signInWaitMs,
    });
    const connect = createConnectTool({ broker, askForCredential, askSignIn });
    const path = { withUpstream, discovering, pool, registry, catalog, clock };
    const methods = createAgentMethods({ ...path, connect, askSignIn, hasCredential, listDeadlineMs, self });

    // The edges
    const signedIn = createSignedIn(discovery, registry);
    const listeners = new Listeners({ registry, changes, ownerKeyOf, limitsOf, clock, onInterest: watch.interest });
    life.onClose('listeners', () => listeners.close());
    const sessions = new Sessions(clock, limitsOf);
    life.onClose('sessions', () => sessions.close());
    const mcp = createMcpEndpoint({
      authenticate: (request, route) => authenticator.authenticate(toAuthenticationRequest(request, route, clients)),
      challenge: (request, route, error) =>
        challengeFor(publicUrl, route, error, request.headers.authorization !== undefined),
      onKnown: fair.onKnown,
      shares,
      methods,
      signInDone: createSignInDone({ registry, waits: noticeWaits, clock }),
      sessions,
      listeners,
      logger,
      isStopping: () => isStopping,
    });
    const admin = createAdminRouter({
      adminKey: options.adminKey,
      findAgentKey: (text) => agentKeys.find(text),
      ...counted,
      tenants,
      issuers,
      keys,
      servers,
      directory: createDirectory(registry, catalog),
      definitions: { secretsOf, addressRule },
      credentials,
      keeper,
      redirectUri: credentialParts.redirectUri,
      importGrant: credentialParts.importGrant,
      disconnect: credentialParts.disconnect,
      signedIn,
      connections: createLiveConnections(pool),
      tickets,
      linkSignInAllowed,
      vault,
      keysAtRest,
      clock,
      logger,
    });
    const pages = createPages({
      database,
      tenants,
      issuers,
      registry,
      vault,
      credentialParts,
      dial,
      signedIn,
      linkSignInAllowed,
      publicUrl: publicUrlNow,
      ...counted,
      clock,
      logger,
    });
    const app = createHttpApp({
      publicUrl: publicUrlNow,
      issuersOf: createIssuersOf(issuers),
      ...counted,
      isReady: async () =>
        !isStopping &&
        (await database.ping().then(
          () => true,
          () => false,
        )),
      admin,
      pages,
      logger,
    });
    const gatekeeper = createGatekeeper({
      publicUrl: publicUrlNow,
      allowedHosts: options.http.allowedHosts,
      allowedOrigins: options.http.allowedOrigins,
    });
    const server = await listenForAgents(
      { gatekeeper, sockets, mcp, app, clock },
      options.http.host,
      options.http.port,
    );
    life.onClose('server', () => server.close());
    if (publicUrl === '') publicUrl = server.url;
    ownPort = Number(new URL(server.url).port);
    void findFirstTools(servers.listTenantIds(), registry, logger);

    return {
      url: server.url,
      publicUrl,
      linkSignInAllowed: linkSignInAllowed(),
      refresh: (tenantId) => registry.refresh(tenantId),
      async stop() {
        isStopping = true;
        server.stopAccepting();
        waits.stop();
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
