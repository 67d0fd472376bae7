// Ends what a person connected: gone here at once, then revoked at the authorization server, each token by
// itself and the refresh token first, again in a while where the server does not answer (RFC 7009).
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Change } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { withinTime } from '../shared/within-time.ts';
import { type AuthorizationServers, type OAuthClient, OAuthUnavailable } from './authorization-server.ts';
import type { Clients } from './clients.ts';
import { type Owner, ownerKey } from './credential.ts';
import type { CredentialStore } from './credential-store.ts';
import type { Grant } from './grant.ts';
import type { KeptCredentials } from './kept-credentials.ts';

export interface Disconnect {
  /** False when nothing was kept. Resolves when nothing here uses it any more; revoking goes on by itself. */
  run(server: UpstreamServer, owner: Owner): Promise<boolean>;
  /** Ends tokens at the authorization server, by and by; for those that nothing here uses. */
  revoke(server: UpstreamServer, grant: Grant): void;
  /** Stops trying again. */
  close(): void;
}

export interface DisconnectDeps {
  readonly credentials: Pick<CredentialStore, 'remove'>;
  readonly kept: Pick<KeptCredentials, 'open'>;
  readonly clients: Pick<Clients, 'known'>;
  readonly authorizationServersOf: (tenantId: TenantId) => Pick<AuthorizationServers, 'revoke'>;
  readonly announce: (change: Change) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const REVOKE_MS = 10_000;
const PAUSES_MS = [5_000, 30_000, 120_000];

export function createDisconnect(deps: DisconnectDeps): Disconnect {
  const { credentials, kept, clients, authorizationServersOf, announce, clock, logger } = deps;
  const root = new AbortController();

  const revokeOnce = async (
    server: UpstreamServer,
    grant: Grant,
    client: OAuthClient,
    token: Secret,
    hint: 'refresh_token' | 'access_token',
  ) => {
    const tooLate = (): Error => new OAuthUnavailable('not revoked in time');
    await withinTime(clock, REVOKE_MS, tooLate, (signal) =>
      authorizationServersOf(server.tenantId).revoke(grant.place, client, token, hint, signal),
    );
  };

  const revoke = async (
    server: UpstreamServer,
    grant: Grant,
    client: OAuthClient,
    token: Secret,
    hint: 'refresh_token' | 'access_token',
  ): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      try {
        await revokeOnce(server, grant, client, token, hint);
        return;
      } catch (error) {
        const pause = PAUSES_MS[attempt];
        const fields = { tenantId: server.tenantId, server: server.name, hint, attempt, error: describeError(error) };
        logger.warn(fields, 'token not revoked');
        // A refusal is an answer: the next one would be the same.
        if (pause === undefined || !(error instanceof OAuthUnavailable)) return;
        await clock.sleep(Math.max(pause, error.retryAfterMs ?? 0), root.signal);
      }
    }
  };

  const revokeAll = async (server: UpstreamServer, grant: Grant): Promise<void> => {
    if (grant.place.revocationEndpoint === undefined) return;
    const client = await clients.known(server, grant.place, grant.clientId);
    if (client === undefined) return;
    // Neither waits for the other: a server that knows no revocation of access tokens still ends the rest.
    const refresh = grant.refreshToken && revoke(server, grant, client, grant.refreshToken, 'refresh_token');
    await Promise.all([refresh, revoke(server, grant, client, grant.accessToken, 'access_token')]);
  };

  const revokeInTime = (server: UpstreamServer, grant: Grant): void => {
    revokeAll(server, grant).catch((error: unknown) =>
      logger.warn({ tenantId: server.tenantId, server: server.name, error: describeError(error) }, 'grant not revoked'),
    );
  };

  return {
    revoke: revokeInTime,
    async run(server, owner) {
      const { tenantId, id: serverId } = server;
      const key = ownerKey(owner);
      // What was removed is what is revoked: another node may have renewed it a moment ago.
      const removed = await credentials.remove(tenantId, serverId, key);
      announce({ kind: 'credentials', tenantId, serverId, owner: key });
      if (removed === undefined) return false;
      // What cannot be opened any more is gone all the same.
      const opened = await kept.open(removed).catch(() => undefined);
      if (opened?.content.kind === 'grant') revokeInTime(server, opened.content.grant);
      return true;
    },
    close: () => root.abort(new Error('stopping')),
  };
}
