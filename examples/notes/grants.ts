// What the sample authorization server remembers, in memory: its clients, and what people allowed them.
import { createHash, randomBytes } from 'node:crypto';

export interface Permission {
  readonly clientId: string;
  readonly person: string;
  readonly scopes: readonly string[];
  /** The MCP server that tokens are for, as the client named it (RFC 8707). */
  readonly resource: string;
}

interface Code extends Permission {
  readonly redirectUri: string;
  readonly challenge: string;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly lifeS: number;
}

/** Short, so that whoever tries this sees a renewal. */
const TOKEN_LIFE_S = 300;

const random = (): string => randomBytes(24).toString('base64url');

export class Grants {
  /** Redirect addresses by client. */
  readonly clients = new Map<string, readonly string[]>();
  readonly #codes = new Map<string, Code>();
  readonly #refreshTokens = new Map<string, Permission>();
  readonly #accessTokens = new Map<string, Permission & { readonly expiresAt: number }>();

  register(redirectUris: readonly string[]): string {
    const clientId = random();
    this.clients.set(clientId, redirectUris);
    return clientId;
  }

  allow(code: Code): string {
    const text = random();
    this.#codes.set(text, code);
    return text;
  }

  /** A code works once, for who began, and only with the verifier behind the challenge (PKCE). */
  redeem(text: string, claim: { clientId: string; redirectUri: string; verifier: string }): Tokens | undefined {
    const code = this.#codes.get(text);
    this.#codes.delete(text);
    const challenge = createHash('sha256').update(claim.verifier).digest('base64url');
    const holds =
      code !== undefined &&
      code.clientId === claim.clientId &&
      code.redirectUri === claim.redirectUri &&
      code.challenge === challenge;
    return holds ? this.#tokens(code) : undefined;
  }

  /** Each refresh token works once, too: the answer brings the next. */
  renew(text: string, clientId: string): Tokens | undefined {
    const permission = this.#refreshTokens.get(text);
    if (permission?.clientId !== clientId) return undefined;
    this.#refreshTokens.delete(text);
    return this.#tokens(permission);
  }

  revoke(text: string): void {
    this.#refreshTokens.delete(text);
    this.#accessTokens.delete(text);
  }

  /** What a token allows now. */
  find(accessToken: string): Permission | undefined {
    const found = this.#accessTokens.get(accessToken);
    return found !== undefined && found.expiresAt > Date.now() ? found : undefined;
  }

  #tokens({ clientId, person, scopes, resource }: Permission): Tokens {
    const permission = { clientId, person, scopes, resource };
    const tokens = { accessToken: random(), refreshToken: random(), lifeS: TOKEN_LIFE_S };
    this.#accessTokens.set(tokens.accessToken, { ...permission, expiresAt: Date.now() + TOKEN_LIFE_S * 1000 });
    this.#refreshTokens.set(tokens.refreshToken, permission);
    return tokens;
  }
}
