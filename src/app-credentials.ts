// The part of the parts list that is about keys: what is kept of them, where they come from, how they are
// renewed and ended. Closed before the database is.
import type { AppOptions } from './app-options.ts';
import type { Registry } from './catalog/registry.ts';
import type { SignInTroubles } from './catalog/sign-in-troubles.ts';
import type { UpstreamServer } from './catalog/upstream-server.ts';
import { announced } from './credential/announced.ts';
import { type CredentialBroker, createCredentialBroker } from './credential/broker.ts';
import { type ClientKeys, createClientKeys } from './credential/client-keys.ts';
import { createClients } from './credential/clients.ts';
import { createSignInFlows } from './credential/consent-flow.ts';
import type { Owner } from './credential/credential.ts';
import type { CredentialStore } from './credential/credential-store.ts';
import { createDisconnect } from './credential/disconnect.ts';
import { forgetMoved } from './credential/forget-moved.ts';
import { createImportGrant, type ImportGrant } from './credential/import-grant.ts';
import { createGrantKeeper } from './credential/keep-grant.ts';
import { createSecretKeeper, type SecretKeeper } from './credential/keep-secret.ts';
import { createKeptCredentials } from './credential/kept-credentials.ts';
import type { KeyProvider } from './credential/key-provider.ts';
import { createObtainTokens, createRequireSubject, type SubjectTokenOf } from './credential/obtain-tokens.ts';
import { createRenewer } from './credential/renewer.ts';
import type { ScopeStore } from './credential/scope-store.ts';
import type { SignInFlows } from './credential/sign-in-flows.ts';
import { createTickets, type Tickets } from './credential/tickets.ts';
import type { Vault } from './credential/vault.ts';
import type { PersonSignIn } from './identity/person-sign-in.ts';
import type { Change, ChangeFeed } from './shared/changes.ts';
import type { Lifecycle } from './shared/lifecycle.ts';
import { createCredentialStore } from './store/credentials.ts';
import type { Database } from './store/database.ts';
import { createClientStore } from './store/oauth-clients.ts';
import { createRenewalStore } from './store/renewals.ts';
import { createScopeStore } from './store/scope-needs.ts';
import { createServiceKeyStore } from './store/service-keys.ts';
import { createAttemptStore } from './store/sign-in-attempts.ts';
import { createTicketStore } from './store/tickets.ts';
import { createAuthorizationServers } from './upstream/oauth/authorization-servers.ts';
import type { OAuthFetchDeps } from './upstream/oauth/oauth-fetch.ts';
import { createPersonSignIn } from './upstream/oauth/person-sign-in.ts';

export interface CredentialPartsDeps extends Pick<AppOptions, 'clock' | 'logger'> {
  readonly database: Database;
  readonly changes: ChangeFeed;
  readonly announce: (change: Change) => void;
  readonly vault: Vault;
  readonly masterKeys: KeyProvider;
  /** The one way out. */
  readonly fetchOf: OAuthFetchDeps['fetchOf'];
  readonly mayUseHttp: (url: string) => boolean;
  readonly registry: Registry;
  readonly signInTroubles: SignInTroubles;
  readonly subjectTokenOf: SubjectTokenOf;
  readonly publicUrl: () => string;
  readonly life: Lifecycle;
}

export interface CredentialParts {
  readonly credentials: CredentialStore;
  readonly scopes: ScopeStore;
  readonly tickets: Tickets;
  readonly broker: CredentialBroker;
  readonly keeper: SecretKeeper;
  readonly clientKeys: ClientKeys;
  readonly redirectUri: (server: UpstreamServer) => string;
  readonly importGrant: ImportGrant;
  readonly disconnect: (server: UpstreamServer, owner: Owner) => Promise<boolean>;
  readonly personSignIn: PersonSignIn;
  /** Once there is somebody who finds the tools after a sign-in. */
  createFlows(signedIn: (server: UpstreamServer, owner: Owner) => Promise<void>): SignInFlows;
}

export function createCredentialParts(deps: CredentialPartsDeps): CredentialParts {
  const { database, changes, announce, vault, clock, logger, registry, publicUrl, life } = deps;
  const credentials = createCredentialStore(database);
  const scopes = createScopeStore(database);
  const tickets = createTickets({ store: createTicketStore(database), clock, publicUrl });
  const kept = createKeptCredentials({ credentials, vault, changes, logger });
  life.onClose('kept credentials', () => kept.close());

  const oauth = { fetchOf: deps.fetchOf, clock, mayUseHttp: deps.mayUseHttp };
  const authorizationServersOf = createAuthorizationServers({ ...oauth, logger, signInTroubles: deps.signInTroubles });
  const clientKeys = createClientKeys({ store: createServiceKeyStore(database), masterKeys: deps.masterKeys, clock });
  const store = createClientStore(database);
  const clients = createClients({ store, vault, keys: clientKeys, authorizationServersOf, publicUrl, clock });

  const disconnect = createDisconnect({ credentials, kept, clients, authorizationServersOf, announce, clock, logger });
  life.onClose('revocations', () => disconnect.close());
  const grants = createGrantKeeper({ vault, credentials });
  const requireSubject = createRequireSubject(deps.subjectTokenOf);
  const renewer = createRenewer({
    kept,
    renewals: createRenewalStore(database),
    keeper: grants,
    obtain: createObtainTokens({
      authorizationServersOf,
      clients,
      requireSubject,
      now: () => clock.now(),
    }),
    clients,
    requireSubject,
    discard: (server, grant) => disconnect.revoke(server, grant),
    changes,
    announce,
    clock,
    logger,
  });
  life.onClose('renewals', () => renewer.close());
  life.onClose('moved servers', forgetMoved({ registry, credentials, scopes, clock, logger }));

  return {
    credentials,
    scopes,
    tickets,
    broker: createCredentialBroker({ kept, renewer, tickets, clock }),
    keeper: announced(createSecretKeeper({ vault, credentials, clock }), announce),
    clientKeys,
    redirectUri: clients.redirectUri,
    importGrant: createImportGrant({ authorizationServersOf, clients, keeper: grants, clock, announce }),
    disconnect: (server, owner) => disconnect.run(server, owner),
    personSignIn: createPersonSignIn(oauth),
    createFlows: (signedIn) =>
      createSignInFlows({
        attempts: createAttemptStore(database),
        authorizationServersOf,
        clients,
        keeper: grants,
        kept,
        scopeNeeds: scopes,
        vault,
        findServer: registry.find,
        signedIn,
        announce,
        clock,
        logger,
      }),
  };
}
