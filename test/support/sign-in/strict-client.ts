// openid-client, which checks metadata, state, issuer and PKCE by itself, allowed to speak to loopback.
import type { CryptoKey } from 'jose';
import * as oauth from 'openid-client';

const plain = {
  execute: [oauth.allowInsecureRequests],
  // From here, so that the wire under the tests sees that it is a test that asks.
  [oauth.customFetch]: (...[url, options]: Parameters<oauth.CustomFetch>): Promise<Response> =>
    fetch(url, options as RequestInit),
};

interface ClientWishes {
  readonly algorithm?: 'oauth2' | 'oidc';
  readonly initialAccessToken?: string;
}

export function registerStrictClient(
  issuer: string,
  metadata: Partial<oauth.ClientMetadata>,
  { algorithm = 'oauth2', ...options }: ClientWishes = {},
): Promise<oauth.Configuration> {
  const authentication = metadata['token_endpoint_auth_method'] === 'none' ? oauth.None() : undefined;
  const all = { ...plain, algorithm, ...options };
  return oauth.dynamicClientRegistration(new URL(issuer), metadata, authentication, all);
}

export function strictClient(
  issuer: string,
  clientId: string,
  proof: string | CryptoKey,
): Promise<oauth.Configuration> {
  const options = { ...plain, algorithm: 'oauth2' as const };
  const authentication =
    typeof proof === 'string' ? oauth.ClientSecretBasic(proof) : oauth.PrivateKeyJwt({ key: proof, kid: 'k1' });
  return oauth.discovery(new URL(issuer), clientId, undefined, authentication, options);
}
