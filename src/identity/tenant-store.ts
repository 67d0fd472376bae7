// Ports: tenants, the issuers whose signed tokens they accept, and their agent keys. Filled by store/.
import type { TenantId } from '../shared/id.ts';

/** How a tenant's people prove who they are in a browser; see docs/reference/signing-in.md. */
export type SignIn =
  | {
      readonly mode: 'oidc';
      readonly issuer: string;
      readonly clientId: string;
      readonly clientSecret?: string;
      readonly principalClaim?: string;
    }
  | { readonly mode: 'handoff'; readonly verifyUrl: string; readonly key: string }
  | { readonly mode: 'link' };

export interface Tenant {
  readonly id: TenantId;
  readonly name: string;
  readonly signIn: SignIn;
  readonly gatedDefault: unknown;
  readonly limits: Readonly<Record<string, unknown>>;
}

export interface Issuer {
  readonly tenantId: TenantId;
  readonly issuer: string;
  /** Exactly one of the two. */
  readonly jwksUri: string | undefined;
  readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } | undefined;
  readonly audience: string;
  readonly principalClaim: string;
  /** Needed when several tenants share the issuer; its value must be the tenant's id. */
  readonly tenantClaim: string | undefined;
  readonly algorithms: readonly string[];
}

export interface AgentKey {
  readonly tenantId: TenantId;
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the whole key text. */
  readonly keyHash: Buffer;
  /** The key's own principal, or undefined when the agent names one per request. */
  readonly principal: string | undefined;
  /** `*` for anyone of the tenant. */
  readonly mayActFor: '*' | readonly string[];
  readonly scopes: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number | undefined;
  readonly createdAt: number;
}

export interface TenantStore {
  list(after: string | undefined, limit: number): Promise<{ items: readonly Tenant[]; next: string | undefined }>;
  find(id: TenantId): Promise<Tenant | undefined>;
  /** Undefined when the id is taken. */
  create(tenant: Tenant): Promise<Tenant | undefined>;
  update(id: TenantId, change: Partial<Omit<Tenant, 'id'>>): Promise<Tenant | undefined>;
  remove(id: TenantId): Promise<boolean>;
}

export interface IssuerStore {
  list(tenantId: TenantId): Promise<readonly Issuer[]>;
  /** The same issuer may be registered by several tenants. */
  findByIssuer(issuer: string): Promise<readonly Issuer[]>;
  put(issuer: Issuer): Promise<void>;
  remove(tenantId: TenantId, issuer: string): Promise<boolean>;
}

export interface AgentKeyStore {
  list(tenantId: TenantId): Promise<readonly AgentKey[]>;
  findByHash(keyHash: Buffer): Promise<AgentKey | undefined>;
  create(key: AgentKey): Promise<void>;
  remove(tenantId: TenantId, id: string): Promise<boolean>;
}
