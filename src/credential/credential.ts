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
  { readonly kind: 'none' } | StaticCredential;

interface StaticCredential {
  readonly kind: 'static';
  readonly owner: Owner;
  readonly version: string;
  /** Of a grant: new with each sign-in, and kept by its renewals. */
  readonly signInId?: string | undefined;
  /** Of a grant: when that sign-in was, epoch milliseconds. */
  readonly signedInAt?: number | undefined;
  readonly secret: Secret;
}

/** Changes when a person does something, never by a renewal. A pasted key has only its version to tell by. */
export function signInOf({ signInId, version }: StaticCredential): string {
  return signInId ?? version;
}
