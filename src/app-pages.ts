// The part of the parts list that people see in a browser, and what other servers may read about us.
import type { CredentialParts } from './app-credentials.ts';
import type { AppOptions } from './app-options.ts';
import { bindingOf } from './catalog/binding.ts';
import { isInvalid, type Registry } from './catalog/registry.ts';
import type { UpstreamServer } from './catalog/upstream-server.ts';
import type { Dial } from './connection/connection.ts';
import { createClientDocuments } from './consent/client-documents.ts';
import { createConsentRouter } from './consent/routes.ts';
import { connectedOf } from './credential/connected.ts';
import { type Owner, ownerKey } from './credential/credential.ts';
import { createOpenSignInSecret } from './credential/sign-in-secret.ts';
import type { Vault } from './credential/vault.ts';
import type { IssuerStore, TenantStore } from './identity/tenant-store.ts';
import type { ClientAddress } from './limits/client-address.ts';
import type { Strangers } from './limits/strangers.ts';
import { createKeyTrial } from './proxy/key-trial.ts';
import type { SignedIn } from './proxy/signed-in.ts';
import type { TenantId } from './shared/id.ts';
import { createBrowserSessionStore } from './store/browser-sessions.ts';
import { createBrowserSignInStore } from './store/browser-sign-ins.ts';
import type { Database } from './store/database.ts';
import { createRenewalStore } from './store/renewals.ts';
import { createTicketMismatchStore } from './store/ticket-mismatches.ts';

export interface PagesDeps extends Pick<AppOptions, 'clock' | 'logger'> {
  readonly database: Database;
  readonly tenants: TenantStore;
  readonly issuers: IssuerStore;
  readonly registry: Registry;
  readonly vault: Vault;
  readonly credentialParts: CredentialParts;
  readonly dial: Dial;
  readonly signedIn: SignedIn;
  readonly linkSignInAllowed: () => boolean;
  readonly publicUrl: () => string;
  readonly strangers: Strangers;
  readonly clients: ClientAddress;
}

/** Routers, each for its own paths. */
export function createPages(deps: PagesDeps): readonly ReturnType<typeof createConsentRouter>[] {
  const { database, tenants, issuers, registry, vault, credentialParts, signedIn, publicUrl, clock, logger } = deps;
  const { credentials, tickets, keeper, personSignIn, clientKeys } = credentialParts;
  const renewals = createRenewalStore(database);

  const listServers = async (tenantId: TenantId): Promise<readonly UpstreamServer[]> =>
    [...(await registry.tenant(tenantId)).byName.values()].flatMap(({ server }) => (isInvalid(server) ? [] : [server]));

  return [
    createClientDocuments({ publicUrl, publicJwks: () => clientKeys.publicJwks() }),
    createConsentRouter({
      tickets,
      findServer: registry.find,
      findTenant: (tenantId) => tenants.find(tenantId),
      hasIssuer: async (tenantId, issuer) =>
        (await issuers.list(tenantId)).some((registered) => registered.issuer === issuer),
      listServers,
      async listCredentials(tenantId, principalId) {
        const servers = new Map((await listServers(tenantId)).map((server) => [server.id, server]));
        const owner = ownerKey({ kind: 'principal', principalId });
        const connected = await connectedOf({ credentials, renewals, now: () => clock.now() }, tenantId, owner);
        return connected.flatMap(({ serverId, binding, since, isOver }) => {
          const server = servers.get(serverId);
          // Kept for where the server was before: it is used for nothing any more.
          if (server === undefined || bindingOf(server) !== binding) return [];
          return [{ server, connectedAt: since, account: undefined, isOver }];
        });
      },
      async disconnect(server, principalId) {
        const owner: Owner = { kind: 'principal', principalId };
        await credentialParts.disconnect(server, owner);
      },
      issueTicket: (server, principalId) => tickets.issue(server.tenantId, principalId, server),
      sessions: createBrowserSessionStore(database),
      signIns: createBrowserSignInStore(database),
      mismatches: createTicketMismatchStore(database),
      personSignIn,
      openSignInSecret: createOpenSignInSecret(vault),
      flows: credentialParts.createFlows(signedIn),
      keeper,
      tryKey: createKeyTrial(deps.dial),
      signedIn,
      linkSignInAllowed: deps.linkSignInAllowed,
      publicUrl,
      strangers: deps.strangers,
      clients: deps.clients,
      clock,
      logger,
    }),
  ];
}
