// An identity provider whose ID tokens the test writes.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { IdentityProvider, PersonRequest } from '../../../src/identity/person-sign-in.ts';
import type { Secret } from '../../../src/shared/secret.ts';
import { createPersonSignIn } from '../../../src/upstream/oauth/person-sign-in.ts';
import { ACME, NEVER, OAuthBench, REDIRECT_URI, VERIFIER } from './an-oauth-bench.ts';
import type { Site } from './an-oauth-site.ts';

export const OIDC = '/.well-known/openid-configuration';
export const REQUEST: PersonRequest = { redirectUri: REDIRECT_URI, state: 'st', nonce: 'no', verifier: VERIFIER };

export interface IdToken {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: object;
  /** With a key that the provider does not publish. */
  readonly forged?: boolean;
}

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

export class IdentityBench extends OAuthBench {
  readonly people = createPersonSignIn(this.deps);
  idp!: Site;
  #own!: Keys;
  #foreign!: Keys;

  static async open(): Promise<IdentityBench> {
    const bench = new IdentityBench();
    bench.idp = await bench.site();
    bench.#own = await generateKeyPair('ES256');
    bench.#foreign = await generateKeyPair('ES256');
    bench.publish();
    const jwk = { ...(await exportJWK(bench.#own.publicKey)), kid: 'k1', use: 'sig', alg: 'ES256' };
    bench.idp.on({ '/jwks': { json: { keys: [jwk] } } });
    await bench.issue();
    return bench;
  }

  publish(rest: object = {}): void {
    const { origin } = this.idp;
    const metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
      ...rest,
    };
    this.idp.on({ [OIDC]: { json: metadata } });
  }

  /** What the token endpoint gives from now on. */
  async issue({ claims = {}, header = {}, forged = false }: IdToken = {}): Promise<void> {
    const now = Math.floor(Date.now() / 1000);
    const { origin } = this.idp;
    const all = { iss: origin, aud: 'web', sub: 'anna', nonce: 'no', iat: now, exp: now + 60, ...claims };
    const token = await new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header })
      .sign((forged ? this.#foreign : this.#own).privateKey);
    this.answerWith(token);
  }

  answerWith(idToken: string | undefined): void {
    this.idp.on({ '/token': { json: { access_token: 'at', token_type: 'Bearer', id_token: idToken } } });
  }

  provider(rest: Partial<IdentityProvider> = {}): IdentityProvider {
    const clientSecret: Secret | undefined = undefined;
    return { tenantId: ACME, issuer: this.idp.origin, clientId: 'web', clientSecret, claim: 'sub', ...rest };
  }

  prove(query = 'code=c1&state=st', provider: Partial<IdentityProvider> = {}): Promise<string> {
    return this.people.prove(this.provider(provider), REQUEST, new URLSearchParams(query), NEVER);
  }
}
