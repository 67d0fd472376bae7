// Signed tokens: issuer, audience, times, keys. Gives who is asking, or refuses (T13).
import type { JWTPayload } from 'jose';
import type { Clock } from '../shared/clock.ts';
import { isForUs } from './audience.ts';
import type { InternCaller } from './intern-caller.ts';
import type { JwksSource } from './jwks-source.ts';
import {
  isAccessTokenType,
  isOtherKindOfToken,
  readAgentId,
  readEnd,
  readPrincipal,
  readScopes,
} from './jwt-claims.ts';
import { readUnverifiedClaims } from './jwt-form.ts';
import { checkSignature, MAX_AGE_S, TOLERANCE_S } from './jwt-signature.ts';
import { isRefusal, refusal } from './refusal.ts';
import { expectedAudience, findCandidates } from './registration.ts';
import type { Issuer, IssuerStore } from './tenant-store.ts';
import type { Verdict } from './verdict.ts';

/** More tenants than this under one claim-less issuer and audience is a mistake, not a reason to check on. */
const MAX_CANDIDATES = 4;

export interface JwtVerifierDeps {
  readonly issuers: Pick<IssuerStore, 'findByIssuer'>;
  readonly keys: JwksSource;
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly intern: InternCaller;
}

export interface JwtVerifier {
  verify(token: string): Promise<Verdict>;
}

export function createJwtVerifier({ issuers, keys, publicUrl, clock, intern }: JwtVerifierDeps): JwtVerifier {
  async function verifyUnder(issuer: Issuer, token: string): Promise<Verdict> {
    const { payload, protectedHeader } = await checkSignature(issuer, token, keys, clock);
    // The choice of registrations read claims that nobody had vouched for yet; what decides is read from signed ones.
    if (!isAccessTokenType(protectedHeader.typ)) throw refusal('typ');
    if (isOtherKindOfToken(payload)) throw refusal('no access token');
    if (!isForUs(payload.aud, expectedAudience(issuer, publicUrl()))) throw refusal('aud');
    if (issuer.tenantClaim !== undefined && payload[issuer.tenantClaim] !== issuer.tenantId)
      throw refusal('tenant claim');
    return toVerdict(issuer, payload, intern);
  }

  return {
    async verify(token) {
      const claims = readUnverifiedClaims(token);
      if (typeof claims?.['iss'] !== 'string') throw refusal('not a token with an issuer');
      const registrations = await issuers.findByIssuer(claims['iss']);
      const candidates = findCandidates(registrations, claims, publicUrl());
      if (candidates.length > MAX_CANDIDATES) throw refusal('too many tenants registered this issuer and audience');
      return onlyOne(await Promise.allSettled(candidates.map((issuer) => verifyUnder(issuer, token))));
    },
  };
}

/** Good for two tenants is good for neither: we must not choose whose data it opens. */
function onlyOne(results: readonly PromiseSettledResult<Verdict>[]): Verdict {
  const good = results.filter((result) => result.status === 'fulfilled');
  const [verdict] = good;
  if (verdict !== undefined && good.length === 1) return verdict.value;
  if (verdict !== undefined) throw refusal('several tenants could claim this token');
  const failures = results.filter((result) => result.status === 'rejected').map(({ reason }): unknown => reason);
  throw (
    failures.find((error) => !isRefusal(error)) ??
    failures[0] ??
    refusal('no tenant registered this issuer for this token')
  );
}

function toVerdict({ tenantId, issuer, principalClaim }: Issuer, claims: JWTPayload, intern: InternCaller): Verdict {
  const principalId = readPrincipal(issuer, claims[principalClaim]);
  const expiresAt = readEnd(claims, MAX_AGE_S, TOLERANCE_S);
  if (principalId === undefined) throw refusal('principal claim');
  if (expiresAt === undefined) throw refusal('exp is not in seconds');
  return {
    kind: 'signed',
    tenantId,
    expiresAt,
    caller: intern(tenantId, principalId, readAgentId(claims, issuer), readScopes(claims)),
  };
}
