// Which tenants' registrations of an issuer a token could stand under. Pure; decides nothing about signatures.

import type { ExpectedAudience } from './audience.ts';
import { isForUs } from './audience.ts';
import type { Claims } from './jwt-form.ts';
import type { Issuer } from './tenant-store.ts';

/**
 * A registration with `tenantClaim` stands only for tokens that name its tenant in that claim, and
 * then goes before those without. One without it stands for tokens made for its audience. So another
 * tenant's registration of the same issuer cannot take a tenant's own out of force.
 */
export function findCandidates(registrations: readonly Issuer[], claims: Claims, publicUrl: string): readonly Issuer[] {
  const named = registrations.filter(
    (one) => one.tenantClaim !== undefined && claims[one.tenantClaim] === one.tenantId,
  );
  if (named.length > 0) return named;
  return registrations.filter(
    (one) => one.tenantClaim === undefined && isForUs(claims['aud'], expectedAudience(one, publicUrl)),
  );
}

export function expectedAudience({ audience, tenantId }: Issuer, publicUrl: string): ExpectedAudience {
  return { registered: audience, publicUrl, tenantId };
}
