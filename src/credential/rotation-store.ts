// Ports: the tenants' data keys as the rotation sees them, and the rows that are sealed by them. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { StoredAttempt } from './attempt-store.ts';
import type { CredentialKind } from './credential-store.ts';
import type { WrappedDataKey } from './data-key-store.ts';
import type { Wrapped } from './key-provider.ts';

export interface StoredDataKey extends WrappedDataKey {
  readonly isCurrent: boolean;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly unusedSince: number | undefined;
}

export interface RotationStore {
  /** By id, after the one given. */
  listTenants(after: string | undefined, limit: number): Promise<readonly TenantId[]>;
  /** Oldest first. */
  listKeys(tenantId: TenantId): Promise<readonly StoredDataKey[]>;
  /** False when it was wrapped anew by somebody else, or is gone. */
  rewrap(tenantId: TenantId, key: WrappedDataKey, to: Wrapped): Promise<boolean>;
  rewrapServiceKey(id: string, from: Buffer, to: Wrapped): Promise<boolean>;
  /** Puts `key` in the place of `currentId`; false when that is not the current one any more. */
  makeCurrent(tenantId: TenantId, currentId: string, key: WrappedDataKey, now: number): Promise<boolean>;
  /** How many rows hold something that is sealed by it. */
  countSealed(tenantId: TenantId, keyId: string): Promise<number>;
  setUnused(tenantId: TenantId, keyId: string, since: number | undefined): Promise<void>;
  /** Only a key that is not current, seals nothing, and has been unused since `until` or longer. */
  removeUnused(tenantId: TenantId, keyId: string, until: number): Promise<boolean>;
  /** All of a tenant's, with what they sealed. */
  removeAll(tenantId: TenantId): Promise<void>;
}

export interface SealedCredential {
  readonly serverId: ServerId;
  readonly owner: string;
  readonly kind: CredentialKind;
  readonly binding: string;
  readonly version: string;
  readonly sealed: Buffer;
}

export interface SealedClient {
  readonly serverId: ServerId;
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly method: string;
  readonly sealed: Buffer;
}

/** What it is sealed to, and what tells it from others. */
export type SealedAttempt = Omit<StoredAttempt, 'tenantId' | 'expiresAt' | 'state'>;

export interface SealedDefinition {
  readonly name: string;
  readonly revision: string;
  readonly definition: unknown;
}

/** Rows of one table in the order of their keys; those that begin with `fresh` are left out. */
export interface SealedTable<Row> {
  list(tenantId: TenantId, fresh: Buffer, after: Row | undefined, limit: number): Promise<readonly Row[]>;
  /** Writes only over what was read; false when something else stands there by now. */
  replace(tenantId: TenantId, row: Row, sealed: Buffer): Promise<boolean>;
}

export interface SealedRowsStore {
  readonly credentials: SealedTable<SealedCredential>;
  readonly clients: SealedTable<SealedClient>;
  readonly attempts: SealedTable<SealedAttempt>;
  /** By name, after the one given, whatever they hold. */
  listDefinitions(tenantId: TenantId, after: string, limit: number): Promise<readonly SealedDefinition[]>;
  /** Keeps the revision. False when it was changed meanwhile. */
  replaceDefinition(tenantId: TenantId, row: SealedDefinition, definition: unknown): Promise<boolean>;
  /** The column as it stands. */
  findSignIn(tenantId: TenantId): Promise<unknown>;
  replaceSignIn(tenantId: TenantId, from: unknown, to: unknown): Promise<boolean>;
}
