// One server and one client as openid-client wants them. The library writes requests and checks answers;
// where they go is not its business: it knows each endpoint by a name only, so that nothing it makes of
// an address can send a token elsewhere (T10, B166), and https is judged in one place.
import { Configuration, type CustomFetchOptions, customFetch, type ServerMetadata } from 'openid-client';
import type { OAuthClient } from '../../credential/authorization-server.ts';
import { authenticationOf } from './client-authentication.ts';

export type EndpointName = 'token' | 'revocation' | 'jwks';

export interface Party {
  readonly issuer: string;
  readonly tokenAuthMethods: readonly string[] | undefined;
  readonly answersWithIssuer: boolean;
  /** Undefined: RS256 (OpenID Connect Core §3.1.3.7). Without a public key the library takes none of them. */
  readonly idTokenAlgorithms?: readonly string[] | undefined;
}

export interface LibraryRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly form: URLSearchParams;
}

export type Send = (endpoint: EndpointName, request: LibraryRequest) => Promise<Response>;

const ENDPOINTS: Readonly<Record<EndpointName, string>> = {
  token: 'https://token.invalid/',
  revocation: 'https://revocation.invalid/',
  jwks: 'https://jwks.invalid/',
};

/** Waits are bounded by `send`, so the library's own timer is off. */
export function configure(party: Party, client: OAuthClient, send: Send): Configuration {
  const server: ServerMetadata = {
    issuer: party.issuer,
    token_endpoint: ENDPOINTS.token,
    revocation_endpoint: ENDPOINTS.revocation,
    jwks_uri: ENDPOINTS.jwks,
    authorization_response_iss_parameter_supported: party.answersWithIssuer,
    ...(party.idTokenAlgorithms === undefined
      ? {}
      : { id_token_signing_alg_values_supported: [...party.idTokenAlgorithms] }),
  };
  const config = new Configuration(server, client.clientId, undefined, authenticationOf(client, party));
  config.timeout = 0;
  config[customFetch] = (url, options) => send(nameOf(url), requestOf(options));
  return config;
}

function nameOf(url: string): EndpointName {
  for (const name of ['token', 'revocation', 'jwks'] as const) if (ENDPOINTS[name] === url) return name;
  throw new Error('openid-client asked an endpoint it was not given');
}

const requestOf = ({ method, headers, body }: CustomFetchOptions): LibraryRequest => ({
  method: method === 'GET' ? 'GET' : 'POST',
  headers,
  form: body instanceof URLSearchParams ? body : new URLSearchParams(),
});
