// Authorization servers that answer as the test says and keep everything they were asked.
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import {
  type AuthorizationRequest,
  type AuthorizationServers,
  type CodeExchange,
  type GrantPlace,
  type OAuthClient,
  OAuthRefusal,
  type Registration,
  type RegistrationRequest,
  type SignInPlace,
  type TokenSet,
} from '../../src/credential/authorization-server.ts';
import { Secret } from '../../src/shared/secret.ts';

export const AS_PLACE: SignInPlace = {
  issuer: 'https://as.example',
  authorizationEndpoint: 'https://login.as.example/authorize',
  tokenEndpoint: 'https://as.example/token',
  registrationEndpoint: 'https://as.example/register',
  revocationEndpoint: 'https://as.example/revoke',
  takesMetadataDocument: false,
  answersWithIssuer: false,
  tokenAuthMethods: undefined,
  resource: 'https://notes.example/mcp',
  scopes: ['read'],
  offersOfflineAccess: false,
};

export interface Asked {
  readonly grant: 'client_credentials' | 'token_exchange';
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly subject?: string;
}

export class FakeAuthorizationServers implements AuthorizationServers {
  place: SignInPlace = AS_PLACE;
  readonly discovered: (string | undefined)[] = [];
  /** For each discovery, whether what is remembered of the server was left aside. */
  readonly anew: boolean[] = [];
  readonly registrations: (RegistrationRequest & { readonly issuer: string })[] = [];
  readonly sent: (AuthorizationRequest & { readonly clientId: string })[] = [];
  readonly exchanges: (CodeExchange & { readonly clientId: string; readonly tokenEndpoint: string })[] = [];
  readonly asked: Asked[] = [];
  readonly revocations: { readonly token: string; readonly hint: string; readonly clientId: string }[] = [];

  onDiscover: () => Promise<void> = async () => undefined;
  onRegister: (nth: number, signal: AbortSignal) => Promise<Registration> = async (nth) => aRegistration(nth);
  onExchange: (nth: number, signal: AbortSignal) => Promise<TokenSet> = async (nth) => aTokenSet(`access-${nth}`);
  onAsked: (nth: number) => Promise<TokenSet> = async (nth) => aTokenSet(`own-${nth}`);
  onRevoke: (hint: string, nth: number, signal: AbortSignal) => Promise<void> = async () => undefined;

  async discover(
    _server: UpstreamServer,
    challenge: string | undefined,
    _signal?: AbortSignal,
    isAgain = false,
  ): Promise<SignInPlace> {
    this.discovered.push(challenge);
    this.anew.push(isAgain);
    await this.onDiscover();
    return this.place;
  }

  register({ issuer }: SignInPlace, request: RegistrationRequest, signal: AbortSignal): Promise<Registration> {
    return this.onRegister(this.registrations.push({ ...request, issuer }), signal);
  }

  async authorizationUrl(place: SignInPlace, { clientId }: OAuthClient, request: AuthorizationRequest) {
    this.sent.push({ ...request, clientId });
    return `${place.authorizationEndpoint}?${new URLSearchParams({ state: request.state }).toString()}`;
  }

  exchange(place: SignInPlace, { clientId }: OAuthClient, exchange: CodeExchange, signal: AbortSignal) {
    if (exchange.query.get('state') !== exchange.state) return Promise.reject(new OAuthRefusal('state_mismatch'));
    const error = exchange.query.get('error');
    if (error !== null) return Promise.reject(new OAuthRefusal(error));
    const nth = this.exchanges.push({ ...exchange, clientId, tokenEndpoint: place.tokenEndpoint });
    return this.onExchange(nth, signal);
  }

  refresh(): Promise<never> {
    return Promise.reject(new Error('nothing is refreshed here'));
  }

  clientCredentials(_place: GrantPlace, { clientId }: OAuthClient, scopes: readonly string[]): Promise<TokenSet> {
    return this.onAsked(this.asked.push({ grant: 'client_credentials', clientId, scopes }));
  }

  exchangeToken(_place: GrantPlace, { clientId }: OAuthClient, subject: Secret, scopes: readonly string[]) {
    return this.onAsked(this.asked.push({ grant: 'token_exchange', clientId, scopes, subject: subject.reveal() }));
  }

  revoke(_place: GrantPlace, { clientId }: OAuthClient, token: Secret, hint: string, signal: AbortSignal) {
    this.revocations.push({ token: token.reveal(), hint, clientId });
    return this.onRevoke(hint, this.revocations.filter((one) => one.hint === hint).length, signal);
  }
}

export function aRegistration(nth: number, secretExpiresAt?: number): Registration {
  const secret = new Secret(`client-secret-${nth}`);
  return {
    client: { clientId: `client-${nth}`, authentication: { kind: 'secret', method: 'client_secret_basic', secret } },
    secretExpiresAt,
  };
}

export function aTokenSet(accessToken: string, more: Partial<TokenSet> = {}): TokenSet {
  return {
    accessToken: new Secret(accessToken),
    refreshToken: undefined,
    expiresInS: 3_600,
    scopes: undefined,
    ...more,
  };
}

/** An answer that comes only when it is too late. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
