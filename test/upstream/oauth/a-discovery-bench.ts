// A server with a path, an authorization server, and the question where its people sign in.
import type { UpstreamServer } from '../../../src/catalog/upstream-server.ts';
import type { SignInPlace } from '../../../src/credential/authorization-server.ts';
import { serverOf } from '../../catalog/read-definition.ts';
import { metadataOf, OAuthBench } from './an-oauth-bench.ts';
import type { Site, SiteAnswer } from './an-oauth-site.ts';

export const PRM = '/.well-known/oauth-protected-resource';
export const OAUTH = '/.well-known/oauth-authorization-server';
export const OIDC = '/.well-known/openid-configuration';

export const challenging = (challenge: string | string[]): SiteAnswer => ({
  status: 401,
  headers: { 'www-authenticate': challenge },
});

export interface Registered {
  readonly oauth?: object;
  readonly kind?: string;
  readonly path?: string;
  readonly rest?: object;
  readonly revision?: string;
}

export class DiscoveryBench extends OAuthBench {
  /** The MCP server, at /team/mcp: it wants a key and says no more. */
  u!: Site;
  /** A well-behaved authorization server. */
  as!: Site;

  static async open(): Promise<DiscoveryBench> {
    const bench = new DiscoveryBench();
    bench.u = await bench.site({ '/team/mcp': challenging('Bearer') });
    bench.as = await bench.site();
    bench.publish();
    return bench;
  }

  /** Metadata of the authorization server, at the usual place. */
  publish(rest: object = {}): void {
    this.as.on({ [OAUTH]: { json: metadataOf(this.as.origin, rest) } });
  }

  /** The document of the MCP server. */
  resource(rest: object = {}): SiteAnswer {
    return { json: { resource: `${this.u.origin}/team/mcp`, authorization_servers: [this.as.origin], ...rest } };
  }

  server({
    oauth = {},
    kind = 'oauth',
    path = '/team/mcp',
    rest = {},
    revision = '1',
  }: Registered = {}): UpstreamServer {
    return serverOf({ url: `${this.u.origin}${path}`, credential: { kind, oauth }, ...rest }, { revision });
  }

  discover(challenge?: string, registered: Registered = {}, isAgain = false): Promise<SignInPlace> {
    return this.servers.discover(this.server(registered), challenge, new AbortController().signal, isAgain);
  }
}
