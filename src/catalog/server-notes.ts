// What this node has met at a tenant's servers, a note for each. It is about one definition: an edited or removed
// server begins anew.
import type { ServerId, TenantId } from '../shared/id.ts';
import { isInvalid, type Registry } from './registry.ts';
import type { UpstreamServer } from './upstream-server.ts';

export interface ServerNotes<Note> {
  find(server: UpstreamServer): Note | undefined;
  /** Undefined: it is forgotten. */
  keep(server: Pick<UpstreamServer, 'tenantId' | 'id' | 'revision'>, note: Note | undefined): void;
  /** False for one that was edited or removed, as it may be while it is being called. */
  isRegistered(server: UpstreamServer): boolean;
}

/** `onKept` is told of each note that is kept, replaced or forgotten. */
export function createServerNotes<Note>(
  registry: Pick<Registry, 'known' | 'onChange'>,
  onKept: (tenantId: TenantId, before: Note | undefined, note: Note | undefined) => void = () => {},
): ServerNotes<Note> {
  const tenants = new Map<TenantId, Map<ServerId, { readonly revision: string; readonly note: Note }>>();

  const keep: ServerNotes<Note>['keep'] = ({ tenantId, id, revision }, note) => {
    const servers = tenants.get(tenantId) ?? new Map<ServerId, { revision: string; note: Note }>();
    onKept(tenantId, servers.get(id)?.note, note);
    if (note === undefined) servers.delete(id);
    else servers.set(id, { revision, note });
    if (servers.size === 0) tenants.delete(tenantId);
    else tenants.set(tenantId, servers);
  };

  registry.onChange((tenantId, now) => {
    const revisions = new Map([...now.byName.values()].map(({ server }) => [server.id, server.revision]));
    for (const [id, { revision }] of [...(tenants.get(tenantId) ?? [])])
      if (revisions.get(id) !== revision) keep({ tenantId, id, revision }, undefined);
  });

  return {
    find({ tenantId, id, revision }) {
      const kept = tenants.get(tenantId)?.get(id);
      return kept?.revision === revision ? kept.note : undefined;
    },
    keep,
    isRegistered({ tenantId, name, id, revision }) {
      const known = registry.known(tenantId)?.byName.get(name)?.server;
      return known !== undefined && !isInvalid(known) && known.id === id && known.revision === revision;
    },
  };
}
