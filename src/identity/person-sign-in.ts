// Port: a tenant's own identity provider, where the person in the browser is proved (contract §7, mode
// `oidc`). Filled by upstream/oauth over openid-client.
import type { TenantId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';

export interface IdentityProvider {
  /** Whose provider it is: it is asked over the tenant's own sockets. */
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  /** The ID token's claim that names the person; `sub` unless configured. */
  readonly claim: string;
}

export interface PersonRequest {
  /** A constant of the installation and tenant, sent byte for byte twice. */
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly verifier: string;
}

export interface PersonSignIn {
  /** Where to send the browser. Throws ProxyError with a message for the person. */
  authorizationUrl(provider: IdentityProvider, request: PersonRequest, signal: AbortSignal): Promise<string>;
  /**
   * The value of the claim, from an ID token whose signature, issuer, audience, nonce and times were
   * checked. Throws ProxyError: `denied` when the answer is an error or does not hold.
   */
  prove(
    provider: IdentityProvider,
    request: PersonRequest,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<string>;
}
