// Proves a person at their tenant's own identity provider (OpenID Connect Core §3.1): code with PKCE and
// nonce, and an ID token whose signature is checked with the provider's keys, not taken on trust of TLS.
import {
  authorizationCodeGrant,
  calculatePKCECodeChallenge,
  enableNonRepudiationChecks,
  getJwksCache,
  setJwksCache,
} from 'openid-client';
import { type OAuthClient, OAuthRefusal, OAuthUnavailable } from '../../credential/authorization-server.ts';
import type { IdentityProvider, PersonRequest, PersonSignIn } from '../../identity/person-sign-in.ts';
import { ProxyError } from '../../shared/errors.ts';
import { parsePrincipalId, type TenantId } from '../../shared/id.ts';
import { writeUrl } from './authorization-url.ts';
import { checkCallback } from './callback-answer.ts';
import { configure, type Send } from './configuration.ts';
import { asProxyError, translateError } from './errors.ts';
import { createProviders, type Provider } from './identity-providers.ts';
import { createOAuthFetch, type OAuthAnswer, type OAuthFetch, type OAuthFetchDeps } from './oauth-fetch.ts';
import { readTokenAnswer } from './token-answer.ts';
import { posted, withoutEcho } from './token-request.ts';

export function createPersonSignIn(deps: OAuthFetchDeps): PersonSignIn {
  const { clock, mayUseHttp } = deps;
  const fetchOf = (tenantId: TenantId): OAuthFetch => createOAuthFetch(deps, tenantId);
  const providers = createProviders({ fetchOf, clock, mayUseHttp });

  /** The claims of an ID token that holds. Throws OAuthRefusal, OAuthUnavailable. */
  async function claimsFrom(
    known: Provider,
    provider: IdentityProvider,
    { redirectUri, state, nonce, verifier }: PersonRequest,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const [client, fetch] = [clientOf(provider), fetchOf(provider.tenantId)];
    const send: Send = async (endpoint, request) => {
      if (endpoint === 'jwks')
        return readKeys(await fetch({ url: known.jwksUri, method: 'GET', headers: request.headers, signal }));
      request.form.set('redirect_uri', redirectUri);
      const answer = await fetch({ url: known.tokenEndpoint, ...posted(request), signal });
      return withoutEcho(client, request, () => Response.json(readTokenAnswer(answer, clock.now(), true)));
    };
    const config = configure(known, client, send);
    enableNonRepudiationChecks(config);
    if (known.keys !== undefined) setJwksCache(config, known.keys);
    const answered = new URL(redirectUri);
    answered.search = query.toString();
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await authorizationCodeGrant(config, answered, checks);
    known.keys = getJwksCache(config);
    return tokens.claims();
  }

  return {
    async authorizationUrl(provider, { redirectUri, state, nonce, verifier }, signal) {
      const known = await providers.find(provider, signal);
      return writeUrl(known.authorizationEndpoint, mayUseHttp, {
        response_type: 'code',
        client_id: provider.clientId,
        redirect_uri: redirectUri,
        scope: provider.claim === 'sub' ? 'openid' : 'openid profile email',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },

    async prove(provider, request, query, signal) {
      const known = await providers.find(provider, signal);
      try {
        checkCallback({ ...known, state: request.state }, query);
        return personIn(await claimsFrom(known, provider, request, query, signal), provider.claim);
      } catch (error) {
        throw verdictOn(translateError(error, signal));
      }
    },
  };
}

function clientOf({ clientId, clientSecret: secret }: IdentityProvider): OAuthClient {
  return secret === undefined
    ? { clientId, authentication: { kind: 'none' } }
    : { clientId, authentication: { kind: 'secret', method: 'client_secret_basic', secret } };
}

function readKeys({ status, body }: OAuthAnswer): Response {
  if (status !== 200)
    throw new OAuthUnavailable(`The identity provider answered with HTTP status ${status} for its keys.`);
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

/** A mail address that the provider itself does not vouch for is whatever its owner typed. */
function personIn(claims: Readonly<Record<string, unknown>> | undefined, claim: string): string {
  const value = claims?.[claim];
  const isVouchedFor = claim !== 'email' || claims?.['email_verified'] !== false;
  if (typeof value === 'string' && isName(value) && isVouchedFor) return value;
  throw new ProxyError('denied', 'The identity provider does not say who you are in the way it is set up here.');
}

/** As for a signed token's claim: a lone surrogate has no UTF-8 form, so the database would make two people one. */
const isName = (value: string): boolean =>
  value.length <= 255 && parsePrincipalId(value) !== undefined && !/\p{Surrogate}/u.test(value);

/** Words for a client that is not known there; the person can do nothing about it. */
const CLIENT_REFUSED = new Set(['invalid_client', 'unauthorized_client']);

function verdictOn(error: unknown): unknown {
  if (!(error instanceof OAuthRefusal)) return asProxyError(error);
  if (CLIENT_REFUSED.has(error.code))
    return new ProxyError('upstream_protocol', 'The identity provider refused the client id or secret set up here.');
  return new ProxyError('denied', 'The identity provider did not confirm the sign-in.');
}
