// What a scripted authorization server has given: codes, grants and their tokens, and how they end.
import { randomBytes } from 'node:crypto';
import type { AsSettings } from './as-options.ts';

/** What a person (or a client for itself) allowed; every token belongs to one. */
export interface Grant {
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** RFC 8707; undefined where the client named none. */
  readonly resource: string | undefined;
  revoked: boolean;
}

export interface Code {
  readonly grant: Grant;
  readonly redirectUri: string;
  readonly challenge: string;
  used: boolean;
}

export interface AccessToken {
  readonly token: string;
  readonly grant: Grant;
  readonly scopes: readonly string[];
  expiresAt: number;
  ended: boolean;
}

interface RefreshToken {
  readonly token: string;
  readonly grant: Grant;
  replaced: boolean;
}

export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
}

const random = (kind: string): string => `${kind}-${randomBytes(18).toString('base64url')}`;

export class AsGrants {
  readonly codes = new Map<string, Code>();
  readonly accessTokens = new Map<string, AccessToken>();
  readonly refreshTokens = new Map<string, RefreshToken>();
  /** Grants ended because a code or a replaced refresh token came again. */
  revocations = 0;
  readonly #settings: AsSettings;

  constructor(settings: AsSettings) {
    this.#settings = settings;
  }

  code(grant: Grant, redirectUri: string, challenge: string): string {
    const text = random('code');
    this.codes.set(text, { grant, redirectUri, challenge, used: false });
    return text;
  }

  accessToken(grant: Grant, scopes = grant.scopes): string {
    const { accessTokenLifeS: lifeS, now } = this.#settings;
    const token = random('at');
    const endsIn = typeof lifeS === 'number' && lifeS > 0 ? lifeS * 1000 : Number.POSITIVE_INFINITY;
    this.accessTokens.set(token, { token, grant, scopes, expiresAt: now() + endsIn, ended: false });
    return token;
  }

  refreshToken(grant: Grant): string {
    const token = random('rt');
    this.refreshTokens.set(token, { token, grant, replaced: false });
    return token;
  }

  /** The grant of a refresh token and the token to go on with, or undefined when it is good no more. */
  useRefreshToken(text: string): { readonly grant: Grant; readonly next: string | undefined } | undefined {
    const token = this.refreshTokens.get(text);
    if (token === undefined || token.grant.revoked) return undefined;
    const { rotation } = this.#settings;
    if (token.replaced) {
      if (rotation === 'strict') this.punish(token.grant);
      return undefined;
    }
    if (rotation === 'none') return { grant: token.grant, next: undefined };
    token.replaced = true;
    return { grant: token.grant, next: this.refreshToken(token.grant) };
  }

  punish(grant: Grant): void {
    if (grant.revoked) return;
    grant.revoked = true;
    this.revocations++;
  }

  /** An access token that is good now. */
  find(text: string): AccessToken | undefined {
    const token = this.accessTokens.get(text);
    const isGood =
      token !== undefined && !token.ended && !token.grant.revoked && token.expiresAt > this.#settings.now();
    return isGood ? token : undefined;
  }

  /** RFC 7009: a refresh token takes its grant along. True when the token was known. */
  revoke(text: string): boolean {
    const access = this.accessTokens.get(text);
    if (access !== undefined) access.ended = true;
    const refresh = this.refreshTokens.get(text);
    if (refresh !== undefined) refresh.grant.revoked = true;
    return access !== undefined || refresh !== undefined;
  }

  /** Ends access tokens as time would: their refresh tokens stay good. */
  expire(text: string): void {
    const token = this.accessTokens.get(text);
    if (token !== undefined) token.ended = true;
  }

  expireAll(): void {
    for (const token of this.accessTokens.values()) token.ended = true;
  }

  revokeAll(): void {
    for (const { grant } of [...this.accessTokens.values(), ...this.refreshTokens.values()]) grant.revoked = true;
  }
}
