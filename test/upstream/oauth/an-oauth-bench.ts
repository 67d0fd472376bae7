// The OAuth client with everything it needs, over sites of the test's own. Cleartext is allowed to the
// sites that were started by name, and to nothing else, so that a canary stands for any other address.
import { inspect } from 'node:util';
import type {
  AuthorizationServers,
  GrantPlace,
  OAuthClient,
  SignInPlace,
} from '../../../src/credential/authorization-server.ts';
import type { TenantId } from '../../../src/shared/id.ts';
import { createLogger, type Logger } from '../../../src/shared/logger.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { createNetDial } from '../../../src/upstream/egress/dial.ts';
import { createDoorFetch } from '../../../src/upstream/egress/door-fetch.ts';
import { createAuthorizationServers } from '../../../src/upstream/oauth/authorization-servers.ts';
import type { OAuthFetchDeps } from '../../../src/upstream/oauth/oauth-fetch.ts';
import { loopbackPolicy, openTestDoor } from '../../support/a-door.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type Script, Site } from './an-oauth-site.ts';

export const ACME = 'acme' as TenantId;
export const NEVER = new AbortController().signal;
export const REDIRECT_URI = 'https://px.test/oauth/callback/c1';
export const VERIFIER = 'verifier-0123456789-0123456789-0123456789-0';

export const PUBLIC_CLIENT: OAuthClient = { clientId: 'client-1', authentication: { kind: 'none' } };
export const secretClient = (
  secret: string,
  method: 'client_secret_basic' | 'client_secret_post' = 'client_secret_basic',
): OAuthClient => ({
  clientId: 'client-1',
  authentication: { kind: 'secret', method, secret: new Secret(secret) },
});

export class OAuthBench {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly logger: Logger = createLogger('debug', { write: (line) => void this.lines.push(line) });
  readonly #dispatcher = openTestDoor({
    dial: (target) => {
      this.guard(String(target.port));
      return this.#dial(target);
    },
  });
  readonly #dial = createNetDial(this.clock);
  /** The address guard of the door; throws to refuse a socket. */
  guard: (port: string) => void = () => undefined;
  readonly #sites: Site[] = [];
  readonly #clear = new Set<string>();
  readonly deps: OAuthFetchDeps = {
    fetchOf: () => createDoorFetch(this.#dispatcher, loopbackPolicy),
    clock: this.clock,
    mayUseHttp: (url) => this.#clear.has(new URL(url).origin),
  };
  readonly servers: AuthorizationServers = createAuthorizationServers({ ...this.deps, logger: this.logger })(ACME);

  /** A site that may be asked. */
  async site(scripts: Readonly<Record<string, Script>> = {}): Promise<Site> {
    const site = await this.canary(scripts);
    this.#clear.add(site.origin);
    return site;
  }

  /** A site that nothing may ask. */
  async canary(scripts: Readonly<Record<string, Script>> = {}): Promise<Site> {
    const site = await Site.start(scripts);
    this.#sites.push(site);
    return site;
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
    for (const site of this.#sites) await site.close();
  }
}

/** The metadata of a well-behaved authorization server. */
export const metadataOf = (issuer: string, rest: object = {}): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  code_challenge_methods_supported: ['S256'],
  ...rest,
});

export const placeAt = (origin: string, rest: Partial<SignInPlace> = {}): SignInPlace => ({
  issuer: origin,
  authorizationEndpoint: `${origin}/authorize`,
  tokenEndpoint: `${origin}/token`,
  registrationEndpoint: `${origin}/register`,
  revocationEndpoint: `${origin}/revoke`,
  takesMetadataDocument: false,
  answersWithIssuer: false,
  tokenAuthMethods: undefined,
  resource: 'https://u.test/mcp',
  scopes: [],
  offersOfflineAccess: false,
  ...rest,
});

export const grantPlaceOf = ({
  issuer,
  tokenEndpoint,
  revocationEndpoint,
  resource,
  tokenAuthMethods,
}: SignInPlace): GrantPlace => ({ issuer, tokenEndpoint, revocationEndpoint, resource, tokenAuthMethods });

/** What went wrong; fails when nothing did. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  let value: unknown;
  try {
    value = await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error(`expected a failure, got ${inspect(value)}`);
}

/** All that could be printed of an error, by whoever prints it, in several alphabets. */
export const printed = (error: unknown): string => inspect(error, { depth: 20, showHidden: true });
