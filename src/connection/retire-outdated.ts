// Ends connections that say something outdated: a definition that was edited or removed, a credential
// that was replaced. Calls in flight finish; the next call opens anew.
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ownerKey } from '../credential/credential.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Pool } from './pool.ts';

/** Gives the way to stop. */
export function retireOutdated(pool: Pool, registry: Pick<Registry, 'onChange'>, changes: ChangeFeed): () => void {
  const stops = [
    registry.onChange((tenantId, now) => {
      const current = new Map([...now.byName.values()].map(({ server }) => [server.id, server]));
      const isOutdated = (server: UpstreamServer): boolean => {
        const registered = current.get(server.id);
        return registered === undefined || isInvalid(registered) || registered.revision !== server.revision || !registered.enabled;
      };
      pool.retire(tenantId, isOutdated);
      pool.endDials(tenantId, isOutdated);
    }),
    // A dial under way may carry the new credential already; with an old one its connection is never taken.
    changes.subscribe((change) => {
      if (change.kind !== 'credentials') return;
      pool.retire(change.tenantId, (server, credential) => server.id === change.serverId && credential.kind === 'static' && ownerKey(credential.owner) === change.owner);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
