// What a person has connected, told by what is stored alone: nothing is opened, renewed or asked for it, so
// that one server in trouble holds up no page about all of them.
import type { ServerId, TenantId } from '../shared/id.ts';
import { type CredentialStore, credentialKey, type StoredCredential } from './credential-store.ts';
import type { RenewalStore } from './renewal-store.ts';

export interface Connected {
  readonly serverId: ServerId;
  /** What it may be sent to; compare it with the server's. */
  readonly binding: string;
  /** Epoch milliseconds of the sign-in, or of pasting the key. */
  readonly since: number;
  /** Only a new sign-in helps. */
  readonly isOver: boolean;
}

export interface ConnectedDeps {
  readonly credentials: Pick<CredentialStore, 'listOf'>;
  readonly renewals: Pick<RenewalStore, 'spentAmong'>;
  readonly now: () => number;
}

/** `owner` as `ownerKey` gives it. */
export async function connectedOf(
  { credentials, renewals, now }: ConnectedDeps,
  tenantId: TenantId,
  owner: string,
): Promise<readonly Connected[]> {
  const stored = await credentials.listOf(tenantId, owner);
  const spent = await renewals.spentAmong(tenantId, stored);
  return stored.map((one) => ({
    serverId: one.serverId,
    binding: one.binding,
    since: timeOf(one.details['signedInAt']) ?? one.updatedAt,
    isOver: spent.has(credentialKey(one)) || hasRunOut(one, now()),
  }));
}

/** Past its end, and nothing there to renew it with. */
function hasRunOut({ kind, details }: StoredCredential, now: number): boolean {
  const end = timeOf(details['expiresAt']);
  return kind === 'grant' && details['renewable'] === false && end !== undefined && end <= now;
}

function timeOf(text: unknown): number | undefined {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
