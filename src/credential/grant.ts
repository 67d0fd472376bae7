// What an OAuth sign-in gave: tokens, until when they are good, and where they may be renewed. Pure.
import { ProxyError } from '../shared/errors.ts';
import { Secret } from '../shared/secret.ts';
import { isJsonObject, type JsonObject } from '../wire/reply.ts';
import type { GrantPlace, SignInPlace, TokenSet } from './authorization-server.ts';

export interface Grant {
  readonly accessToken: Secret;
  /** Undefined: cannot be renewed; a new sign-in follows when it ends (2026-07-28 §authorization, refresh tokens). */
  readonly refreshToken: Secret | undefined;
  /** Epoch milliseconds at which the access token came. */
  readonly receivedAt: number;
  /** Epoch milliseconds; undefined: not known, so it is used until it is refused. */
  readonly expiresAt: number | undefined;
  /** What was asked for: the next request asks for no less (2026-07-28 §authorization, step-up). */
  readonly scopes: readonly string[];
  readonly place: GrantPlace;
  /** The client it was given to; another one cannot renew it (RFC 6749 §6). */
  readonly clientId: string;
  /** Names the sign-in it came from; renewals keep it. */
  readonly signInId: string;
  /** Epoch milliseconds of that sign-in. */
  readonly signedInAt: number;
}

const SKEW_MS = 60_000;

/** The one rule on freshness. From here on a token is renewed before it is sent; a short-lived one is not old from the start. */
export function renewalDueAt({ receivedAt, expiresAt }: Grant): number {
  if (expiresAt === undefined) return Infinity;
  return expiresAt - Math.min(SKEW_MS, (expiresAt - receivedAt) / 5);
}

export function isExpired({ expiresAt }: Grant, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** What of a place goes into a grant, and no more: it is sealed and kept. */
export function grantPlaceOf(place: SignInPlace): GrantPlace {
  const { issuer, tokenEndpoint, revocationEndpoint, resource, tokenAuthMethods } = place;
  return { issuer, tokenEndpoint, revocationEndpoint, resource, tokenAuthMethods };
}

/** The grant after `tokens` came at `now`. What the answer leaves out stays as it was (RFC 6749 §5.1, §6). */
export function grantWith(
  base: Omit<Grant, 'accessToken' | 'receivedAt' | 'expiresAt'>,
  tokens: TokenSet,
  now: number,
): Grant {
  return {
    ...base,
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken ?? base.refreshToken,
    receivedAt: now,
    expiresAt: tokens.expiresInS === undefined ? undefined : now + tokens.expiresInS * 1000,
  };
}

/** What may be shown of it. */
export function detailsOf({ place, scopes, expiresAt, refreshToken, signedInAt }: Grant): JsonObject {
  return {
    signedInAt: new Date(signedInAt).toISOString(),
    issuer: place.issuer,
    scopes,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    // Without a refresh token its person is asked again when it ends.
    renewable: refreshToken !== undefined,
  };
}

/** The text to seal. */
export function writeGrant({ accessToken, refreshToken, ...rest }: Grant): string {
  return JSON.stringify({ ...rest, accessToken: accessToken.reveal(), refreshToken: refreshToken?.reveal() });
}

/** Reads what `writeGrant` wrote; it was sealed, so nobody else wrote it. */
export function readGrant(text: string): Grant {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value) || typeof value['accessToken'] !== 'string' || !isJsonObject(value['place']))
    throw new ProxyError('internal', 'A stored grant cannot be read.');
  const { accessToken, refreshToken, ...rest } = value as unknown as Omit<Grant, 'accessToken' | 'refreshToken'> & {
    readonly accessToken: string;
    readonly refreshToken?: string;
  };
  return {
    ...rest,
    accessToken: new Secret(accessToken),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
  };
}
