// What one transaction may see. The policies in the database (migrations/0007) go by the setting that is made here,
// so a query that forgot its condition finds the rows of its scope and no others.
import type { TenantId } from '../shared/id.ts';

export type Scope =
  /** One tenant's rows, to read and to write. */
  | { readonly kind: 'tenant'; readonly tenantId: TenantId }
  /** To read the one row whose secret somebody has shown, before its tenant is known. */
  | { readonly kind: 'proof'; readonly proof: string }
  /** To read who registered this issuer: a token names its issuer before it names a tenant. */
  | { readonly kind: 'issuer'; readonly issuer: string }
  /** To read the list of tenants, and nothing of theirs. */
  | { readonly kind: 'operator' }
  /** What belongs to the installation and to no tenant. */
  | { readonly kind: 'service' };

/** By the SHA-256 of what was shown. */
export const provenBy = (hash: Buffer): Scope => ({ kind: 'proof', proof: hash.toString('hex') });

/** By an id that only the asker was given. Marked, so that no id can be taken for a hash. */
export const namedBy = (id: string): Scope => ({ kind: 'proof', proof: `id:${id}` });

/** How its transaction begins. */
export function beginOf({ kind }: Scope): string {
  return kind === 'tenant' || kind === 'service' ? 'BEGIN' : 'BEGIN READ ONLY';
}

/** Name and value of its setting, which lasts as long as the transaction. */
export function settingOf(scope: Scope): readonly [name: string, value: string] {
  switch (scope.kind) {
    case 'tenant':
      return ['app.tenant', scope.tenantId];
    case 'proof':
      return ['app.proof', scope.proof];
    case 'issuer':
      return ['app.issuer', scope.issuer];
    case 'operator':
    case 'service':
      return ['app.scope', scope.kind];
  }
}
