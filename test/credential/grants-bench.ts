// Grants over in-memory stores: an authorization server that answers as the test says, and as many nodes
// as the test wants over one memory.

import { bindingOf } from '../../src/catalog/binding.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { GrantPlace, TokenSet } from '../../src/credential/authorization-server.ts';
import { createCredentialBroker } from '../../src/credential/broker.ts';
import type { Credential, Owner } from '../../src/credential/credential.ts';
import type { Grant } from '../../src/credential/grant.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { createKeptCredentials } from '../../src/credential/kept-credentials.ts';
import { createObtainTokens } from '../../src/credential/obtain-tokens.ts';
import { createRenewer } from '../../src/credential/renewer.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPrincipal, aServer, aVault, InMemoryCredentials, InMemoryRenewals, InMemoryTickets } from './in-memory.ts';

export const server = aServer({ credential: { kind: 'oauth' } });
export const anna = aPrincipal('anna');
export const ofAnna: Owner = { kind: 'principal', principalId: anna };

export const PLACE: GrantPlace = {
  issuer: 'https://as.example',
  tokenEndpoint: 'https://as.example/token',
  revocationEndpoint: undefined,
  resource: 'https://notes.example/mcp',
  tokenAuthMethods: undefined,
};

export interface Wishes {
  readonly scopes?: readonly string[];
  readonly lifeMs?: number | undefined;
  readonly refreshToken?: string | undefined;
  readonly signInId?: string;
}

export interface Refresh {
  readonly refreshToken: string;
}

export function aGrantsBench() {
  const clock = new FakeClock();
  const vault = aVault();
  const [credentials, renewals] = [new InMemoryCredentials(), new InMemoryRenewals(clock)];
  const ticketRows = new InMemoryTickets();
  const tickets = createTickets({ store: ticketRows, clock, publicUrl: () => 'http://127.0.0.1:8080' });
  const refreshes: Refresh[] = [];
  const forgotten: string[] = [];
  const discarded: string[] = [];
  const answers: (() => Promise<TokenSet>)[] = [];
  /** What the authorization server says when nothing else was put into `answers`. */
  const usual = (): Promise<TokenSet> =>
    Promise.resolve(tokens(`access-${refreshes.length + 1}`, { refreshToken: `refresh-${refreshes.length + 1}` }));
  const isRegistered = { value: true };
  /** Lines of every node. */
  const log: string[] = [];

  const node = () => {
    const changes = new AChangeFeed();
    const logger = createLogger('info', { write: (line) => void log.push(line) });
    const kept = createKeptCredentials({ credentials, vault, changes, logger });
    const keeper = createGrantKeeper({ vault, credentials });
    const clients = {
      known: async () =>
        isRegistered.value ? { clientId: 'us', authentication: { kind: 'none' } as const } : undefined,
      forSignIn: () => Promise.reject(new Error('nobody signs in here')),
      redirectUri: () => '',
      forget: async (_server: UpstreamServer, _issuer: string, clientId: string) => {
        forgotten.push(clientId);
        return true;
      },
    };
    const never = (): Promise<never> => Promise.reject(new Error('not asked for here'));
    const obtain = createObtainTokens({
      authorizationServersOf: () => ({
        discover: never,
        register: never,
        authorizationUrl: never,
        exchange: never,
        clientCredentials: never,
        exchangeToken: never,
        revoke: never,
        refresh: (_place, _client, refreshToken) => {
          refreshes.push({ refreshToken: refreshToken.reveal() });
          return (answers.shift() ?? usual)();
        },
      }),
      clients,
      requireSubject: () => undefined,
      now: () => clock.now(),
    });
    const announce = changes.say.bind(changes);
    const discard = (_of: UpstreamServer, { accessToken }: Grant): void => void discarded.push(accessToken.reveal());
    const renewer = createRenewer({
      kept,
      renewals,
      keeper,
      obtain,
      clients,
      requireSubject: () => undefined,
      discard,
      changes,
      announce,
      clock,
      logger,
    });
    return { broker: createCredentialBroker({ kept, renewer, tickets, clock }), renewer, kept, keeper, changes };
  };

  const first = node();
  const signIn = (wishes: Wishes = {}) =>
    first.keeper.keep(server, ofAnna, bindingOf(server), aGrant(clock.now(), wishes), clock.now());
  return {
    ...first,
    node,
    clock,
    credentials,
    renewals,
    ticketRows,
    refreshes,
    log,
    answers,
    forgotten,
    discarded,
    isRegistered,
    signIn,
  };
}

export function aGrant(
  now: number,
  { lifeMs, refreshToken = 'refresh-0', scopes = ['read'], signInId = 'first' }: Wishes = {},
): Grant {
  return {
    accessToken: new Secret('access-0'),
    refreshToken: refreshToken === '' ? undefined : new Secret(refreshToken),
    receivedAt: now,
    expiresAt: lifeMs === undefined ? undefined : now + lifeMs,
    scopes,
    place: PLACE,
    clientId: 'us',
    signInId,
    signedInAt: now,
  };
}

export function tokens(
  accessToken: string,
  more: { refreshToken?: string; expiresInS?: number | undefined } = {},
): TokenSet {
  return {
    accessToken: new Secret(accessToken),
    refreshToken: more.refreshToken === undefined ? undefined : new Secret(more.refreshToken),
    expiresInS: 'expiresInS' in more ? more.expiresInS : 3_600,
    scopes: undefined,
  };
}

export const valueOf = (credential: Credential | undefined): string | undefined =>
  credential?.kind === 'static' ? credential.secret.reveal() : credential?.kind;

export const settled = (): Promise<void> => new Promise(setImmediate);
