// Ends connections that say something outdated: a definition that was edited or removed, a credential
// that was replaced. Calls in flight finish; the next call opens anew.
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ownerKey } from '../credential/credential.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Pool } from './pool.ts';

export interface RetireOutdatedDeps {
  readonly pool: Pool;
  readonly registry: Pick<Registry, 'onChange'>;
  readonly changes: ChangeFeed;
  /** The credential's version in the database; undefined when it was removed. */
  readonly versionOf: (tenantId: TenantId, serverId: ServerId, owner: string) => Promise<string | undefined>;
  readonly logger: Logger;
}

/** Gives the way to stop. */
export function retireOutdated({ pool, registry, changes, versionOf, logger }: RetireOutdatedDeps): () => void {
  const stops = [
    registry.onChange((tenantId, now) => {
      const current = new Map([...now.byName.values()].map(({ server }) => [server.id, server]));
      const isOutdated = (server: UpstreamServer): boolean => {
        const registered = current.get(server.id);
        return (
          registered === undefined ||
          isInvalid(registered) ||
          registered.revision !== server.revision ||
          !registered.enabled
        );
      };
      pool.retire(tenantId, isOutdated);
      pool.endDials(tenantId, isOutdated);
    }),
    // Only what carries another version: by the time of the notice the new one may be in use already.
    // A dial under way may carry the new credential already; with an old one its connection is never taken.
    changes.subscribe((change) => {
      if (change.kind !== 'credentials') return;
      const { tenantId, serverId, owner } = change;
      versionOf(tenantId, serverId as ServerId, owner)
        .then((version) =>
          pool.retire(
            tenantId,
            (server, credential) =>
              server.id === serverId &&
              credential.kind === 'static' &&
              ownerKey(credential.owner) === owner &&
              credential.version !== version,
          ),
        )
        .catch((error: unknown) =>
          logger.warn({ tenantId, error: describeError(error) }, 'connections of a changed credential not ended'),
        );
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
