// What proves us to an upstream for one call, and whose it is.
import type { PrincipalId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';

export type Owner = { readonly kind: 'tenant' } | { readonly kind: 'principal'; readonly principalId: PrincipalId };

/** '' for the tenant; a principal's key never is empty, so the two cannot meet. */
export function ownerKey(owner: Owner): string {
  return owner.kind === 'tenant' ? '' : `p:${owner.principalId}`;
}

export type Credential =
  /** The server needs none; every caller of the tenant may share the connection. */
  | { readonly kind: 'none' }
  | { readonly kind: 'static'; readonly owner: Owner; readonly version: string; readonly secret: Secret };
