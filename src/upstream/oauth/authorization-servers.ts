// The port of sign-in and tokens, filled: discovery and callback checks of our own, requests written and
// answers checked by openid-client, everything sent through one guarded fetch.
import {
  authorizationCodeGrant,
  clientCredentialsGrant,
  genericGrantRequest,
  refreshTokenGrant,
  tokenRevocation,
} from 'openid-client';
import {
  type AuthorizationServers,
  type AuthorizationServersOf,
  OAuthRefusal,
} from '../../credential/authorization-server.ts';
import type { TenantId } from '../../shared/id.ts';
import type { Logger } from '../../shared/logger.ts';
import type { MayUseHttp } from './address.ts';
import { buildAuthorizationUrl } from './authorization-url.ts';
import { checkCallback } from './callback-answer.ts';
import { createDiscover, type Discover, type DiscoverDeps } from './discover.ts';
import { createOAuthFetch, type OAuthFetch, type OAuthFetchDeps } from './oauth-fetch.ts';
import { register } from './registration.ts';
import { askForTokens, askToRevoke, type EndpointDeps } from './token-request.ts';

export interface AuthorizationServersDeps extends OAuthFetchDeps {
  readonly logger: Logger;
  readonly signInTroubles?: DiscoverDeps['signInTroubles'];
}

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

export function createAuthorizationServers(deps: AuthorizationServersDeps): AuthorizationServersOf {
  const { clock, mayUseHttp, logger, signInTroubles } = deps;
  const fetchOf = (tenantId: TenantId): OAuthFetch => createOAuthFetch(deps, tenantId);
  const discover = createDiscover({ fetchOf, clock, mayUseHttp, logger, signInTroubles });
  return (tenantId) => serversOver({ fetch: fetchOf(tenantId), clock }, discover, mayUseHttp);
}

function serversOver(endpoints: EndpointDeps, discover: Discover, mayUseHttp: MayUseHttp): AuthorizationServers {
  return {
    discover,
    register: (place, request, signal) => register(endpoints, place, request, signal),
    authorizationUrl: (place, client, request) => buildAuthorizationUrl(place, client, request, mayUseHttp),

    async exchange(place, client, { redirectUri, query, state, verifier }, signal) {
      checkCallback({ ...place, state }, query);
      const answered = new URL(redirectUri);
      answered.search = query.toString();
      return askForTokens(endpoints, { place, client, signal, redirectUri }, (config) =>
        authorizationCodeGrant(
          config,
          answered,
          { expectedState: state, pkceCodeVerifier: verifier },
          { resource: place.resource },
        ),
      );
    },

    // No scope: left out it means "the same as before" (RFC 6749 §6), and it could not be more.
    refresh: (place, client, refreshToken, signal) =>
      askForTokens(endpoints, { place, client, signal }, (config) =>
        refreshTokenGrant(config, refreshToken.reveal(), { resource: place.resource }),
      ),

    clientCredentials: (place, client, scopes, signal) =>
      askForTokens(endpoints, { place, client, signal }, (config) =>
        clientCredentialsGrant(config, { resource: place.resource, ...scopeParam(scopes) }),
      ),

    exchangeToken: (place, client, subjectToken, scopes, signal) =>
      askForTokens(endpoints, { place, client, signal }, (config) =>
        genericGrantRequest(config, TOKEN_EXCHANGE, {
          subject_token: subjectToken.reveal(),
          subject_token_type: ACCESS_TOKEN,
          requested_token_type: ACCESS_TOKEN,
          resource: place.resource,
          ...scopeParam(scopes),
        }),
      ),

    async revoke(place, client, token, hint, signal) {
      const { revocationEndpoint } = place;
      if (revocationEndpoint === undefined) return;
      try {
        await askToRevoke(endpoints, { place, client, signal }, revocationEndpoint, (config) =>
          tokenRevocation(config, token.reveal(), { token_type_hint: hint }),
        );
      } catch (error) {
        // RFC 7009 §2.2.1: it cannot revoke this kind, now or ever.
        if (!(error instanceof OAuthRefusal && error.code === 'unsupported_token_type')) throw error;
      }
    },
  };
}

const scopeParam = (scopes: readonly string[]): Readonly<Record<string, string>> =>
  scopes.length === 0 ? {} : { scope: scopes.join(' ') };
