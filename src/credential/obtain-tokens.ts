// Where the next tokens of a grant come from, by the kind of the credential: its refresh token, the
// client itself, or the caller's own signed token.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ProxyError } from '../shared/errors.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';
import { type AuthorizationServersOf, OAuthRefusal } from './authorization-server.ts';
import type { Clients } from './clients.ts';
import type { Owner } from './credential.ts';
import { type Grant, grantPlaceOf, grantWith } from './grant.ts';

/** Port: the signed token that this principal last came with; undefined when they came with none. */
export type SubjectTokenOf = (tenantId: TenantId, principalId: PrincipalId) => Secret | undefined;

/**
 * The token to exchange, undefined for kinds that need none. Throws `upstream_unavailable` for a caller who
 * brought none: that is about this caller, so it is asked before anything is tried for their principal.
 */
export type RequireSubject = (server: UpstreamServer, owner: Owner) => Secret | undefined;

export function createRequireSubject(subjectTokenOf: SubjectTokenOf): RequireSubject {
  return (server, owner) => {
    if (server.credential?.kind !== 'token_exchange') return undefined;
    const subject = owner.kind === 'principal' ? subjectTokenOf(server.tenantId, owner.principalId) : undefined;
    if (subject !== undefined) return subject;
    throw new ProxyError(
      'upstream_unavailable',
      `${server.name} takes only callers that come with a signed token of their own, which is exchanged for one of its.`,
    );
  };
}

export interface ObtainTokensDeps {
  readonly authorizationServersOf: AuthorizationServersOf;
  readonly clients: Clients;
  readonly requireSubject: RequireSubject;
  readonly now: () => number;
}

/** Undefined: nothing here can be renewed. Throws OAuthRefusal, OAuthUnavailable, ProxyError. */
export type ObtainTokens = (
  server: UpstreamServer,
  owner: Owner,
  grant: Grant | undefined,
  signal: AbortSignal,
) => Promise<Grant | undefined>;

export function createObtainTokens(deps: ObtainTokensDeps): ObtainTokens {
  const { authorizationServersOf, clients, requireSubject, now } = deps;

  const refreshed: ObtainTokens = async (server, _owner, grant, signal) => {
    if (grant?.refreshToken === undefined) return undefined;
    const client = await clients.known(server, grant.place, grant.clientId);
    // Registered anew meanwhile: a refresh token belongs to the client it was given to (RFC 6749 §6).
    if (client === undefined) return undefined;
    const tokens = await authorizationServersOf(server.tenantId).refresh(
      grant.place,
      client,
      grant.refreshToken,
      signal,
    );
    return grantWith(grant, tokens, now());
  };

  const ofOurOwn: ObtainTokens = async (server, owner, _grant, signal) => {
    const authorizationServers = authorizationServersOf(server.tenantId);
    const place = await authorizationServers.discover(server, undefined, signal);
    const client = await clients.forSignIn(server, place, signal);
    const scopes = scopesOf(server) ?? place.scopes;
    const subject = requireSubject(server, owner);
    const asking =
      subject === undefined
        ? authorizationServers.clientCredentials(place, client, scopes, signal)
        : authorizationServers.exchangeToken(place, client, subject, scopes, signal);
    const tokens = await asking.catch(async (error: unknown) => {
      // There may be no grant yet to say which client it was.
      if (error instanceof OAuthRefusal && error.code === 'invalid_client')
        await clients.forget(server, place.issuer, client.clientId);
      throw error;
    });
    const asOurselves = { signInId: '', signedInAt: now() };
    const base = { refreshToken: undefined, scopes, clientId: client.clientId, ...asOurselves };
    return grantWith(
      { ...base, place: grantPlaceOf(place) },
      // Asked for again when it ends; a refresh token would only be one more secret (RFC 6749 §4.4.3).
      { ...tokens, refreshToken: undefined },
      now(),
    );
  };

  return (server, owner, grant, signal) => (isOfOurOwn(server) ? ofOurOwn : refreshed)(server, owner, grant, signal);
}

/** No person signs in: we ask for tokens as ourselves, or on the strength of the caller's own token. */
export function isOfOurOwn({ credential }: UpstreamServer): boolean {
  return credential?.kind === 'client_credentials' || credential?.kind === 'token_exchange';
}

/** As the definition names them. */
export function scopesOf({ credential }: UpstreamServer): readonly string[] | undefined {
  const scopes = credential?.oauth['scopes'];
  return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : undefined;
}
