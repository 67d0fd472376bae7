// Who a request is for. Verified once per token, then remembered and shared by reference.
import type { PrincipalId, TenantId } from '../shared/id.ts';

export interface Caller {
  readonly tenantId: TenantId;
  readonly principalId: PrincipalId;
  /** What is calling: the agent key's id, or the JWT's client. For logs. */
  readonly agentId: string;
  readonly scopes: ReadonlySet<string>;
  /** tenant + principal in one string: what sessions and views are bound to. */
  readonly key: string;
}

/** A NUL cannot occur in either part, so two different pairs never give one key. */
export function callerKey(tenantId: TenantId, principalId: PrincipalId): string {
  return `${tenantId}\u0000${principalId}`;
}

/**
 * The principal of a signed token. An issuer is a URL without fragment (RFC 8414 §2), so the first
 * `#` parts it from the subject and two issuers with one `sub` are different people.
 */
export function jwtPrincipal(issuer: string, subject: string): string {
  return `${issuer}#${subject}`;
}
