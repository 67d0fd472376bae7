// Port: the servers where people sign in and tokens come from. Filled by upstream/oauth over openid-client.
//
// Three kinds of failure, kept apart because a grant's life hangs on it: OAuthRefusal (the server answered
// with an OAuth error), OAuthUnavailable (it gave no usable answer, so nothing is known about the grant),
// and ProxyError with a message for people (the server cannot be signed in to as it is set up).

import type { webcrypto } from 'node:crypto';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { OwnError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';

/** Where and how the people of one registered server sign in: discovered, or pinned in its definition. */
export interface SignInPlace {
  /** As the server's own metadata writes it; compared as plain text, never normalised (RFC 8414 §3.3). */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly revocationEndpoint: string | undefined;
  /** It takes the URL of a metadata document as client id (2026-07-28 §authorization, client registration). */
  readonly takesMetadataDocument: boolean;
  /** It promised `iss` in its answers, so one without is refused (RFC 9207 §2.4). */
  readonly answersWithIssuer: boolean;
  /** Undefined: not said, which means client_secret_basic (RFC 8414 §2). */
  readonly tokenAuthMethods: readonly string[] | undefined;
  /** RFC 8707, character for character as it has to be sent. */
  readonly resource: string;
  /** What to ask for when the definition names none; empty: leave the parameter out. */
  readonly scopes: readonly string[];
  /** `offline_access` is known there and may be asked for. */
  readonly offersOfflineAccess: boolean;
}

/** The part of a place that stays with a grant: it is renewed and revoked there and nowhere else. */
export type GrantPlace = Pick<
  SignInPlace,
  'issuer' | 'tokenEndpoint' | 'revocationEndpoint' | 'resource' | 'tokenAuthMethods'
>;

export type ClientAuthentication =
  | { readonly kind: 'none' }
  | { readonly kind: 'secret'; readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: Secret }
  /** private_key_jwt with our own key, published at /oauth/jwks.json (RFC 7523 §2.2). */
  | { readonly kind: 'key'; readonly keyId: string; readonly privateKey: webcrypto.CryptoKey };

/** We, as one authorization server knows us. */
export interface OAuthClient {
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
}

/** What a registration gave (RFC 7591 §3.2.1). */
export interface Registration {
  readonly client: OAuthClient;
  /** Epoch milliseconds; undefined: does not end. */
  readonly secretExpiresAt: number | undefined;
}

export interface RegistrationRequest {
  readonly redirectUri: string;
  readonly clientName: string;
  /** For endpoints that take only who an admin let in (RFC 7591 §3, initial access token). */
  readonly initialAccessToken: Secret | undefined;
}

export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  /** PKCE; the S256 challenge is made from it. */
  readonly verifier: string;
  readonly scopes: readonly string[];
  /** From the definition; never any of ours. */
  readonly extraParams: Readonly<Record<string, string>>;
}

export interface CodeExchange {
  /** As it was sent in the authorization request, byte for byte. */
  readonly redirectUri: string;
  /** The query the browser came back with. */
  readonly query: URLSearchParams;
  readonly state: string;
  readonly verifier: string;
}

export interface TokenSet {
  readonly accessToken: Secret;
  /** Undefined when the answer brought none: then an older one stays (RFC 6749 §6). */
  readonly refreshToken: Secret | undefined;
  /** Seconds; undefined: not said, or said in a way that means nothing. May be 0. */
  readonly expiresInS: number | undefined;
  /** Undefined: as asked for (RFC 6749 §5.1). */
  readonly scopes: readonly string[] | undefined;
}

/** The server answered with an OAuth error: the code says what about. Description and body are for nobody. */
export class OAuthRefusal extends OwnError {
  /** RFC 6749 §4.1.2.1, §5.2, or whatever word the server used, at most 64 characters of [A-Za-z0-9_.:-]. */
  readonly code: string;

  /** It came by the browser, which may write there what it likes: it says nothing about anybody else. */
  readonly isByBrowser: boolean;

  constructor(code: string, isByBrowser = false) {
    super(`the authorization server answered ${code}`);
    this.name = 'OAuthRefusal';
    this.code = code;
    this.isByBrowser = isByBrowser;
  }
}

/** No usable answer: down, slow, too many requests, garbage. Says nothing about any grant or client. */
export class OAuthUnavailable extends OwnError {
  readonly retryAfterMs: number | undefined;

  /** `reason` is safe to show: no address, no token, no text of the server's. */
  constructor(reason: string, retryAfterMs?: number, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'OAuthUnavailable';
    this.retryAfterMs = retryAfterMs;
  }
}

/** As one tenant reaches them: over sockets that carry nobody else's secrets. */
export type AuthorizationServersOf = (tenantId: TenantId) => AuthorizationServers;

/** Every method is bounded by `signal` and by bounds of its own: 10 s for each request, 20 s at a token endpoint. */
export interface AuthorizationServers {
  /**
   * `challenge` is the WWW-Authenticate of a refused call, where one was seen; without it the server is
   * asked for one. `isAgain`: what is known of it may be old, so it is found out anew. Throws ProxyError
   * (`upstream_protocol`: an admin has to act, the message says how; `upstream_unavailable`: try later).
   */
  discover(
    server: UpstreamServer,
    challenge: string | undefined,
    signal: AbortSignal,
    isAgain?: boolean,
  ): Promise<SignInPlace>;
  /** RFC 7591. Throws ProxyError, OAuthUnavailable. */
  register(place: SignInPlace, request: RegistrationRequest, signal: AbortSignal): Promise<Registration>;
  /** Where to send the browser. */
  authorizationUrl(place: SignInPlace, client: OAuthClient, request: AuthorizationRequest): Promise<string>;
  /** Checks state and issuer of the answer, then exchanges the code, once. Throws OAuthRefusal, OAuthUnavailable. */
  exchange(place: SignInPlace, client: OAuthClient, exchange: CodeExchange, signal: AbortSignal): Promise<TokenSet>;
  refresh(place: GrantPlace, client: OAuthClient, refreshToken: Secret, signal: AbortSignal): Promise<TokenSet>;
  clientCredentials(
    place: GrantPlace,
    client: OAuthClient,
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<TokenSet>;
  /** RFC 8693 §2.1; `subjectToken` is the caller's own signed token. */
  exchangeToken(
    place: GrantPlace,
    client: OAuthClient,
    subjectToken: Secret,
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<TokenSet>;
  /** RFC 7009, one token. Resolves when the server said so, or knows no revocation. */
  revoke(
    place: GrantPlace,
    client: OAuthClient,
    token: Secret,
    hint: 'refresh_token' | 'access_token',
    signal: AbortSignal,
  ): Promise<void>;
}
