// Wrapper: tells this node at once what was kept or removed, so that the next call here goes by it. Other
// nodes hear of it by the database's notice.
import type { Change } from '../shared/changes.ts';
import { ownerKey } from './credential.ts';
import type { SecretKeeper } from './keep-secret.ts';

export function announced(keeper: SecretKeeper, announce: (change: Change) => void): SecretKeeper {
  return {
    async keep(server, owner, text) {
      const kept = await keeper.keep(server, owner, text);
      announce({ kind: 'credentials', tenantId: server.tenantId, serverId: server.id, owner: ownerKey(owner) });
      return kept;
    },
    async remove(tenantId, serverId, owner) {
      const wasThere = await keeper.remove(tenantId, serverId, owner);
      announce({ kind: 'credentials', tenantId, serverId, owner: ownerKey(owner) });
      return wasThere;
    },
  };
}
