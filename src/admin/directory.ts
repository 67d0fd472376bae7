// The admin API's window on the registry.
import type { Catalog } from '../catalog/catalog.ts';
import { isInvalid, type Registered, type Registry } from '../catalog/registry.ts';
import type { TenantId } from '../shared/id.ts';
import type { RegisteredServer, ServerDirectory } from './ports.ts';

export function createDirectory(registry: Registry, catalog: Pick<Catalog, 'status'>): ServerDirectory {
  const show = (tenantId: TenantId, { server, source, enabled, definition }: Registered): RegisteredServer => ({
    id: server.id,
    name: server.name,
    source,
    enabled: enabled && (isInvalid(server) || server.enabled),
    revision: server.revision,
    definition,
    server: isInvalid(server) ? undefined : server,
    problems: isInvalid(server) ? server.problems : [],
    status: catalog.status(tenantId, server.name),
  });
  return {
    find(tenantId, name) {
      const registered = registry.known(tenantId)?.byName.get(name);
      return registered === undefined ? undefined : show(tenantId, registered);
    },
    list: (tenantId) =>
      [...(registry.known(tenantId)?.byName.values() ?? [])]
        .map((registered) => show(tenantId, registered))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    refresh: (tenantId) => registry.refresh(tenantId),
  };
}
