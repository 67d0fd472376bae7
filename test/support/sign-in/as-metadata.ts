// The documents in which an authorization server describes itself, at the places where clients look.
import type { JsonObject } from '../upstreams/message.ts';
import type { AsSettings } from './as-options.ts';

/** RFC 8414 §3.1 and OpenID Connect Discovery §4.1, which put the issuer's path in different places. */
export function isMetadataPath(path: string, issuerPath: string, { metadataAt }: AsSettings): boolean {
  const paths = {
    oauth: `/.well-known/oauth-authorization-server${issuerPath}`,
    oidc: `/.well-known/openid-configuration${issuerPath}`,
    'oidc-appended': `${issuerPath}/.well-known/openid-configuration`,
  };
  return metadataAt.some((place) => paths[place] === path);
}

export function metadataOf(issuer: string, settings: AsSettings): JsonObject {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ['code'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:token-exchange',
    ],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256'],
    authorization_response_iss_parameter_supported: settings.iss !== 'none',
    ...(settings.metadataDocuments ? { client_id_metadata_document_supported: true } : {}),
    ...settings.metadata,
  };
}
