// Asks a token endpoint, once, at the address that stays with the grant.
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import {
  type GrantPlace,
  type OAuthClient,
  OAuthRefusal,
  type TokenSet,
} from '../../credential/authorization-server.ts';
import type { Clock } from '../../shared/clock.ts';
import { Secret } from '../../shared/secret.ts';
import { readScopes } from './challenge.ts';
import { configure, type LibraryRequest, type Send } from './configuration.ts';
import { translateError, UNKNOWN_ERROR } from './errors.ts';
import { type OAuthFetch, TOKEN_MS } from './oauth-fetch.ts';
import { failureOf, readTokenAnswer } from './token-answer.ts';

export interface EndpointDeps {
  readonly fetch: OAuthFetch;
  readonly clock: Clock;
}

export interface TokenQuestion {
  readonly place: GrantPlace & { readonly answersWithIssuer?: boolean };
  readonly client: OAuthClient;
  readonly signal: AbortSignal;
  /** For a code: as the browser was sent there with it. The library would write it anew. */
  readonly redirectUri?: string;
}

/** Throws OAuthRefusal, OAuthUnavailable, or the signal's reason. */
export async function askForTokens(
  { fetch, clock }: EndpointDeps,
  { place, client, signal, redirectUri }: TokenQuestion,
  grant: (config: Configuration) => Promise<TokenEndpointResponse>,
): Promise<TokenSet> {
  const send: Send = async (_endpoint, request) => {
    if (redirectUri !== undefined) request.form.set('redirect_uri', redirectUri);
    const answer = await fetch({ url: place.tokenEndpoint, ...posted(request), withinMs: TOKEN_MS, signal });
    return withoutEcho(client, request, () => Response.json(readTokenAnswer(answer, clock.now(), false)));
  };
  try {
    return tokenSetOf(await grant(configure(partyOf(place), client, send)));
  } catch (error) {
    throw translateError(error, signal);
  }
}

/** RFC 7009: whatever is not an error means that the token is no good any more. */
export async function askToRevoke(
  { fetch, clock }: EndpointDeps,
  { place, client, signal }: TokenQuestion,
  url: string,
  revoke: (config: Configuration) => Promise<void>,
): Promise<void> {
  const send: Send = async (_endpoint, request) => {
    const answer = await fetch({ url, ...posted(request), signal });
    return withoutEcho(client, request, () => {
      if (answer.status < 200 || answer.status >= 300) throw failureOf(answer, clock.now());
      return new Response(null, { status: 200 });
    });
  };
  try {
    await revoke(configure(partyOf(place), client, send));
  } catch (error) {
    throw translateError(error, signal);
  }
}

const partyOf = ({ issuer, tokenAuthMethods, answersWithIssuer = false }: TokenQuestion['place']) => ({
  issuer,
  tokenAuthMethods,
  answersWithIssuer,
});

export const posted = ({ headers, form }: LibraryRequest) =>
  ({ method: 'POST', headers, body: form.toString() }) as const;

const SECRET_FIELDS = ['code', 'code_verifier', 'refresh_token', 'subject_token', 'token', 'client_assertion'];

/** The error's word goes into logs and pages, and a debugging server may put there what it was sent (T23). */
export function withoutEcho<T>({ authentication }: OAuthClient, { form }: LibraryRequest, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error;
    const sent = SECRET_FIELDS.map((field) => form.get(field));
    if (authentication.kind === 'secret') sent.push(authentication.secret.reveal());
    const isEcho = sent.some((secret) => secret !== null && secret !== '' && error.code.includes(secret));
    throw isEcho ? new OAuthRefusal(UNKNOWN_ERROR) : error;
  }
}

function tokenSetOf(answer: TokenEndpointResponse): TokenSet {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInS, scope } = answer;
  const scopes = readScopes(scope);
  return {
    accessToken: new Secret(accessToken),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
    expiresInS,
    scopes: scopes.length === 0 ? undefined : scopes,
  };
}
