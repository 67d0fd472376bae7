// Port: people on their way to prove who they are, at the tenant's identity provider (`oidc`) or at the
// product they use (`handoff`). Filled by store/.
import type { PrincipalId, TenantId } from '../shared/id.ts';

export interface BrowserSignIn {
  readonly tenantId: TenantId;
  /** Stands in addresses and names the cookie; grants nothing. */
  readonly id: string;
  readonly mode: 'oidc' | 'handoff';
  /** SHA-256 of the cookie in the browser that began it. */
  readonly browserHash: Buffer;
  /** SHA-256 of `state`; mode `oidc` only. */
  readonly stateHash: Buffer | undefined;
  /** Whom the product named; mode `handoff`, once it did. */
  readonly principalId: PrincipalId | undefined;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface HandoffConfirmation {
  readonly principalId: PrincipalId;
  /** SHA-256 of the code that the browser comes back with. */
  readonly codeHash: Buffer;
  /** Epoch milliseconds. */
  readonly codeExpiresAt: number;
}

/** All of them find only what is unexpired at `now`. */
export interface BrowserSignInStore {
  create(signIn: Omit<BrowserSignIn, 'principalId'>, now: number): Promise<void>;
  /** The id alone, for the product knows no tenants. */
  find(id: string, now: number): Promise<BrowserSignIn | undefined>;
  findByState(tenantId: TenantId, stateHash: Buffer, now: number): Promise<BrowserSignIn | undefined>;
  /** Also after it was used, while the code lasts. */
  findByCode(codeHash: Buffer, now: number): Promise<BrowserSignIn | undefined>;
  /** A second code replaces the first, a second person does not; false then, and when it was used. */
  confirm(tenantId: TenantId, id: string, confirmation: HandoffConfirmation, now: number): Promise<boolean>;
  /** True for one caller only, on whichever node. */
  take(tenantId: TenantId, id: string, now: number): Promise<boolean>;
}
