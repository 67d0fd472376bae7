// Does an issuer's key stand behind this token, and do its issuer and times hold? All of jose is asked here.

import { errors, type JWTVerifyGetKey, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import type { Clock } from '../shared/clock.ts';
import { OwnError } from '../shared/errors.ts';
import { describeError } from '../shared/logger.ts';
import type { JwksSource } from './jwks-source.ts';
import { refusal } from './refusal.ts';
import { SIGNATURE_ALGORITHMS } from './signature-algorithms.ts';
import type { Issuer } from './tenant-store.ts';

export const TOLERANCE_S = 30;
export const MAX_AGE_S = 24 * 60 * 60;

/** jose also refuses `alg: none`, an embedded `jwk`, an unknown `crit`, and a token without the claims named here. */
export async function checkSignature(
  issuer: Issuer,
  token: string,
  source: JwksSource,
  clock: Clock,
): Promise<JWTVerifyResult> {
  const options: JWTVerifyOptions = {
    algorithms: allowedAlgorithms(issuer),
    issuer: issuer.issuer,
    requiredClaims: ['iss', 'aud', 'exp', 'iat', issuer.principalClaim],
    maxTokenAge: MAX_AGE_S,
    clockTolerance: TOLERANCE_S,
    currentDate: new Date(clock.now()),
  };
  try {
    return await verifyWithNewerKeys(issuer, token, source, options);
  } catch (error) {
    throw toRefusal(error);
  }
}

async function verifyWithNewerKeys(
  issuer: Issuer,
  token: string,
  source: JwksSource,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await verifyWith(await source.resolve(issuer), token, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    const newer = await source.resolveNewer(issuer);
    if (newer === undefined) throw error;
    return verifyWith(newer, token, options);
  }
}

/** A token without a key id may match several keys; then each is tried. */
async function verifyWith(keys: JWTVerifyGetKey, token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const result = await jwtVerify(token, key, options).catch(unlessSignature);
      if (result !== undefined) return result;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function unlessSignature(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
}

/** An issuer that names none gets all; one that names only others gets none, and so no token passes. */
function allowedAlgorithms({ algorithms }: Issuer): string[] {
  return algorithms.length === 0
    ? [...SIGNATURE_ALGORITHMS]
    : SIGNATURE_ALGORITHMS.filter((one) => algorithms.includes(one));
}

/** The library's error carries the claims; only its code and the claim's name go on. */
function toRefusal(error: unknown): Error {
  if (error instanceof errors.JWTClaimValidationFailed) return refusal(`${error.code} ${error.claim}`);
  if (error instanceof errors.JOSEError) return refusal(error.code);
  return refusal('token not checked', new OwnError(String(describeError(error)['kind'])));
}
