// Sign-ins on as many nodes as a test wants over one set of stores, at an authorization server that answers
// as the test says.
import { randomBytes } from 'node:crypto';
import { bindingOf } from '../../src/catalog/binding.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { AttemptStore } from '../../src/credential/attempt-store.ts';
import { createClientKeys } from '../../src/credential/client-keys.ts';
import type { ClientStore } from '../../src/credential/client-store.ts';
import { createClients } from '../../src/credential/clients.ts';
import { createSignInFlows } from '../../src/credential/consent-flow.ts';
import { type Owner, ownerKey } from '../../src/credential/credential.ts';
import type { CredentialStore } from '../../src/credential/credential-store.ts';
import { type Grant, readGrant } from '../../src/credential/grant.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { createKeptCredentials } from '../../src/credential/kept-credentials.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import type { ScopeStore } from '../../src/credential/scope-store.ts';
import { credentialContext } from '../../src/credential/seal-context.ts';
import type { SignInAttempt, SignInFlows } from '../../src/credential/sign-in-flows.ts';
import type { Ticket } from '../../src/credential/ticket-store.ts';
import type { Vault } from '../../src/credential/vault.ts';
import type { Change } from '../../src/shared/changes.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MASTER_KEY, NEVER, oauthServer } from './clients-bench.ts';
import { FakeAuthorizationServers } from './fake-authorization-servers.ts';
import { aPrincipal, aVault, InMemoryCredentials } from './in-memory.ts';
import { InMemoryAttempts, InMemoryClients, InMemoryScopes, InMemoryServiceKeys } from './in-memory-oauth.ts';

export interface FlowStores {
  readonly attempts: AttemptStore;
  readonly clients: ClientStore;
  readonly credentials: CredentialStore;
  readonly scopes: ScopeStore;
}

export interface Begun {
  readonly id: string;
  readonly url: string;
  readonly state: string;
  readonly contextId: string;
}

export const ANNA = aPrincipal('anna');

export function inMemoryStores() {
  return {
    attempts: new InMemoryAttempts(),
    clients: new InMemoryClients(),
    credentials: new InMemoryCredentials(),
    scopes: new InMemoryScopes(),
  };
}

export class FlowBench {
  readonly clock = new FakeClock();
  readonly vault: Vault = aVault();
  readonly as = new FakeAuthorizationServers();
  readonly log: string[] = [];
  readonly announced: Change[] = [];
  /** `kept` and `tools`, in order. */
  readonly done: string[] = [];
  onSignedIn: () => Promise<void> = async () => undefined;
  /** As it is registered now. */
  registered: UpstreamServer | undefined;
  readonly server: UpstreamServer;
  readonly flows: SignInFlows;
  readonly #serviceKeys = new InMemoryServiceKeys();
  readonly #storesOf: () => FlowStores;

  constructor(server: UpstreamServer = oauthServer(), storesOf: () => FlowStores = always(inMemoryStores())) {
    [this.server, this.registered, this.#storesOf] = [server, server, storesOf];
    this.flows = this.node();
  }

  node(): SignInFlows {
    const { attempts, clients: store, credentials, scopes } = this.#storesOf();
    const { clock, vault, as } = this;
    const logger = createLogger('debug', { write: (line) => void this.log.push(line) });
    const masterKeys = createStaticKeyProvider([MASTER_KEY]);
    const keys = createClientKeys({ store: this.#serviceKeys, masterKeys, clock });
    const grants = createGrantKeeper({ vault, credentials });
    const changes = new AChangeFeed();
    return createSignInFlows({
      attempts,
      authorizationServersOf: () => as,
      clients: createClients({
        store,
        vault,
        keys,
        authorizationServersOf: () => as,
        publicUrl: () => 'https://px.test',
        clock,
      }),
      keeper: {
        keep: async (server, owner, binding, grant, now) => {
          this.done.push(`kept ${ownerKey(owner)} ${grant.accessToken.reveal()}`);
          return grants.keep(server, owner, binding, grant, now);
        },
      },
      kept: createKeptCredentials({ credentials, vault, changes, logger }),
      scopeNeeds: scopes,
      vault,
      findServer: async (tenantId, id) =>
        this.registered?.id === id && this.registered.tenantId === tenantId ? this.registered : undefined,
      signedIn: async (_server: UpstreamServer, owner: Owner) => {
        this.done.push(`tools ${ownerKey(owner)}`);
        await this.onSignedIn();
      },
      announce: (change) => {
        this.announced.push(change);
        changes.say(change);
      },
      clock,
      logger,
    });
  }

  ticket(over: Partial<Ticket> = {}): Ticket {
    const { tenantId, id: serverId } = this.server;
    const about = { tenantId, serverId, principalId: ANNA, binding: bindingOf(this.server) };
    const rest = { hash: randomBytes(32), challenge: undefined, scopes: [], expiresAt: this.clock.now() + 600_000 };
    return { ...about, ...rest, ...over };
  }

  async begin(over: Partial<Ticket> = {}, flows: SignInFlows = this.flows): Promise<Begun> {
    const begun = await flows.begin(this.ticket(over), this.server, Buffer.from('browser'), NEVER);
    if (begun.kind === 'changed') throw new Error('nothing was shown before');
    const { id, url } = begun;
    const state = new URL(url).searchParams.get('state');
    const contextId = this.as.sent.at(-1)?.redirectUri.split('/').at(-1);
    if (state === null || contextId === undefined) throw new Error('there is a state and a redirect URI');
    return { id, url, state, contextId };
  }

  async attempt({ contextId, state }: Begun, flows: SignInFlows = this.flows): Promise<SignInAttempt> {
    const attempt = await flows.findByState(contextId, state);
    if (attempt === undefined) throw new Error('there is such an attempt');
    return attempt;
  }

  /** The browser comes back with a code. */
  async comeBack(begun: Begun, more: Readonly<Record<string, string>> = { code: 'c' }, flows = this.flows) {
    return flows.finish(await this.attempt(begun, flows), answerOf(begun, more));
  }

  async signIn(over: Partial<Ticket> = {}): Promise<void> {
    const end = await this.comeBack(await this.begin(over));
    if (end.kind !== 'connected') throw new Error(`ended as ${end.kind}`);
  }
}

/** One bench over stores in memory, which a test may look into and change. */
export function aFlow(server = oauthServer()) {
  const stores = inMemoryStores();
  const bench = new FlowBench(server, () => stores);
  const grantOf = async (owner = 'p:anna'): Promise<Grant | undefined> => {
    const row = await stores.credentials.find(server.tenantId, server.id, owner);
    if (row === undefined) return undefined;
    const context = credentialContext(row.kind, row.serverId, row.owner, row.binding);
    return readGrant((await bench.vault.open(row.tenantId, context, row.sealed)).reveal());
  };
  return { bench, stores, grantOf };
}

export const answerOf = ({ state }: Pick<Begun, 'state'>, more: Readonly<Record<string, string>> = { code: 'c' }) =>
  new URLSearchParams({ state, ...more });

const always =
  <T>(value: T) =>
  (): T =>
    value;
