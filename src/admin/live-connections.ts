// The admin API's window on the pool.
import type { Pool } from '../connection/pool.ts';
import type { LiveConnections } from './ports.ts';

export function createLiveConnections(pool: Pool): LiveConnections {
  return {
    list: (tenantId) =>
      pool.list(tenantId).map(({ id, server, credential, openedAt, inFlight }) => ({
        id,
        server: server.name,
        owner: credential.kind === 'none' ? undefined : credential.owner,
        openedAt,
        inFlight,
      })),
    end(tenantId, id) {
      const lease = pool.list(tenantId).find((one) => one.id === id);
      if (lease === undefined) return false;
      pool.discard(lease);
      return true;
    },
  };
}
