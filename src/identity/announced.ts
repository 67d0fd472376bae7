// Wrappers: tell this node at once what was changed about keys, issuers and tenants, so that the next
// request here goes by it. Other nodes hear of it by the database's notice.
import type { Change } from '../shared/changes.ts';
import type { AgentKeyStore, IssuerStore, TenantStore } from './tenant-store.ts';

type Announce = (change: Change) => void;

export function announcedKeys(keys: AgentKeyStore, announce: Announce): AgentKeyStore {
  return {
    list: (tenantId) => keys.list(tenantId),
    findByHash: (keyHash) => keys.findByHash(keyHash),
    async create(key) {
      await keys.create(key);
      announce({ kind: 'agent_keys', tenantId: key.tenantId });
    },
    async remove(tenantId, id) {
      const wasThere = await keys.remove(tenantId, id);
      announce({ kind: 'agent_keys', tenantId });
      return wasThere;
    },
  };
}

export function announcedIssuers(issuers: IssuerStore, announce: Announce): IssuerStore {
  return {
    list: (tenantId) => issuers.list(tenantId),
    findByIssuer: (issuer) => issuers.findByIssuer(issuer),
    async put(issuer) {
      await issuers.put(issuer);
      announce({ kind: 'issuers', tenantId: issuer.tenantId });
    },
    async remove(tenantId, issuer) {
      const wasThere = await issuers.remove(tenantId, issuer);
      announce({ kind: 'issuers', tenantId });
      return wasThere;
    },
  };
}

export function announcedTenants(tenants: TenantStore, announce: Announce): TenantStore {
  return {
    list: (after, limit) => tenants.list(after, limit),
    find: (id) => tenants.find(id),
    async create(tenant) {
      const created = await tenants.create(tenant);
      if (created !== undefined) announce({ kind: 'tenants', tenantId: created.id });
      return created;
    },
    async update(id, change) {
      const updated = await tenants.update(id, change);
      announce({ kind: 'tenants', tenantId: id });
      return updated;
    },
    async remove(id) {
      const wasThere = await tenants.remove(id);
      announce({ kind: 'tenants', tenantId: id });
      return wasThere;
    },
  };
}
