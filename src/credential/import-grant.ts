// Takes over tokens that were got elsewhere, so that people who are connected already need not sign in
// again when their product moves here.
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Change } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { randomId, type TenantId } from '../shared/id.ts';
import type { AuthorizationServers, TokenSet } from './authorization-server.ts';
import type { Clients } from './clients.ts';
import { type Owner, ownerKey } from './credential.ts';
import { grantPlaceOf, grantWith } from './grant.ts';
import type { GrantKeeper } from './keep-grant.ts';
import { scopesOf } from './obtain-tokens.ts';

export interface ImportGrantDeps {
  readonly authorizationServersOf: (tenantId: TenantId) => Pick<AuthorizationServers, 'discover'>;
  readonly clients: Pick<Clients, 'forSignIn'>;
  readonly keeper: Pick<GrantKeeper, 'keep'>;
  readonly announce: (change: Change) => void;
  readonly clock: Clock;
}

/**
 * They are renewed as the client that this server's people sign in with, so that has to be the one they
 * were given to. Throws `invalid_request` for a server that takes no grants, and what discovery throws.
 */
export type ImportGrant = (
  server: UpstreamServer,
  owner: Owner,
  tokens: TokenSet,
  signal: AbortSignal,
) => Promise<{ readonly version: string }>;

export function createImportGrant(deps: ImportGrantDeps): ImportGrant {
  const { authorizationServersOf, clients, keeper, announce, clock } = deps;
  return async (server, owner, tokens, signal) => {
    if (server.credential?.kind !== 'oauth' || owner.kind !== 'principal')
      throw new ProxyError('invalid_request', `${server.name} takes no OAuth tokens for this owner.`);
    const found = await authorizationServersOf(server.tenantId).discover(server, undefined, signal);
    const { clientId } = await clients.forSignIn(server, found, signal);
    const scopes = tokens.scopes ?? scopesOf(server) ?? found.scopes;
    const now = clock.now();
    const place = grantPlaceOf(found);
    const base = { refreshToken: undefined, scopes, place, clientId, signInId: randomId(12), signedInAt: now };
    const grant = grantWith(base, tokens, now);
    const written = await keeper.keep(server, owner, bindingOf(server), grant, clock.now());
    announce({ kind: 'credentials', tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) });
    return written;
  };
}
