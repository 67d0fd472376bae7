// Servers where nobody could find out how to sign in, the last time somebody was about to: for admins, who
// would read no more than that nobody has signed in yet. Each node knows what it has met itself.
import { withCause } from '../shared/cause-words.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import type { Registry } from './registry.ts';
import type { LastError } from './server-status.ts';
import type { UpstreamServer } from './upstream-server.ts';

export interface SignInTroubles {
  readonly failed: (server: UpstreamServer, error: unknown) => void;
  readonly found: (server: UpstreamServer) => void;
  readonly troubleOf: (server: UpstreamServer) => LastError | undefined;
}

interface Entry {
  readonly revision: string;
  readonly last: LastError;
}

export function createSignInTroubles(registry: Pick<Registry, 'known' | 'onChange'>, clock: Clock): SignInTroubles {
  const tenants = new Map<TenantId, Map<ServerId, Entry>>();

  const forget = (tenantId: TenantId, id: ServerId): void => {
    const servers = tenants.get(tenantId);
    servers?.delete(id);
    if (servers?.size === 0) tenants.delete(tenantId);
  };

  registry.onChange((tenantId, now) => {
    const revisions = new Map([...now.byName.values()].map(({ server }) => [server.id, server.revision]));
    for (const [id, { revision }] of [...(tenants.get(tenantId) ?? [])])
      if (revisions.get(id) !== revision) forget(tenantId, id);
  });

  return {
    failed({ tenantId, id, name, revision }, error) {
      const known = registry.known(tenantId)?.byName.get(name)?.server;
      if (known?.id !== id || known.revision !== revision) return;
      const said = error instanceof ProxyError && error.code !== 'internal' ? error.message : 'Something went wrong.';
      const sentence = `How to sign in there was not found out: ${said}`;
      const servers = tenants.get(tenantId) ?? new Map<ServerId, Entry>();
      const last = { sentence, text: withCause(sentence, error), at: clock.now() };
      tenants.set(tenantId, servers.set(id, { revision, last }));
    },
    found: ({ tenantId, id }) => forget(tenantId, id),
    troubleOf({ tenantId, id, revision }) {
      const entry = tenants.get(tenantId)?.get(id);
      return entry?.revision === revision ? entry.last : undefined;
    },
  };
}
