// What a sign-in asks for, so that no answer ever brings less than the last one did.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ProxyError } from '../shared/errors.ts';
import type { SignInPlace } from './authorization-server.ts';
import { ownerKey } from './credential.ts';
import type { Grant } from './grant.ts';
import type { KeptCredentials, Opened } from './kept-credentials.ts';
import { scopesOf } from './obtain-tokens.ts';
import { firstScopes, type ScopeStore } from './scope-store.ts';
import type { Ticket } from './ticket-store.ts';

export interface ScopesToAskDeps {
  readonly kept: Pick<KeptCredentials, 'load'>;
  readonly scopeNeeds: Pick<ScopeStore, 'list' | 'forget'>;
}

const OFFLINE_ACCESS = 'offline_access';
/** Of one sign-in. They stand in an address, which servers take up to some length only. */
const MAX_ASKED_SCOPES = 100;
const MAX_ASKED_BYTES = 8 * 1024;

/**
 * What to ask for: the definition's scopes, or what the server names; never less than the last grant was
 * asked for with, and all that calls were found to lack (2026-07-28 §authorization, step-up). Where that is
 * too much the last of it is left out.
 */
export async function scopesToAsk(
  { kept, scopeNeeds }: ScopesToAskDeps,
  ticket: Ticket,
  server: UpstreamServer,
  place: SignInPlace,
): Promise<readonly string[]> {
  const { tenantId, serverId, principalId } = ticket;
  const owner = ownerKey({ kind: 'principal', principalId });
  const grant = await grantBefore(kept, ticket, server);
  const before = grant?.place.issuer === place.issuer ? grant.scopes : [];
  const needed = await scopeNeeds.list({ tenantId, serverId, owner });
  const all = union(scopesOf(server) ?? place.scopes, before.filter(isRight), ticket.scopes, needed);
  const asked = firstScopes(all, MAX_ASKED_SCOPES, MAX_ASKED_BYTES);
  // Without it some servers give nothing to renew with (OpenID Connect Core §11).
  return place.offersOfflineAccess ? union(asked, [OFFLINE_ACCESS]) : asked;
}

/** What this person gave for the server before, if it is still meant for it. */
export async function grantBefore(
  kept: ScopesToAskDeps['kept'],
  { principalId, binding }: Ticket,
  server: UpstreamServer,
): Promise<Grant | undefined> {
  const opened = await openedOrNot(kept, server, ownerKey({ kind: 'principal', principalId }));
  return opened?.content.kind === 'grant' && opened.binding === binding ? opened.content.grant : undefined;
}

/** Not a right but a way to be given tokens; asked for where it is offered now (B176). */
const isRight = (scope: string): boolean => scope !== OFFLINE_ACCESS;

/** One that cannot be opened any more must not keep its person from replacing it. */
async function openedOrNot(
  kept: ScopesToAskDeps['kept'],
  server: UpstreamServer,
  owner: string,
): Promise<Opened | undefined> {
  try {
    return (await kept.load(server, owner)).opened;
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'internal') return undefined;
    throw error;
  }
}

export function union(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}
