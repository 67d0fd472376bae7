// What is connected on this node right now, and ending one of it.
import { ownerView } from './credentials.ts';
import { pageOf, readPage } from './page.ts';
import type { AdminDeps, LiveConnection } from './ports.ts';
import { notFound } from './problem.ts';
import { type AdminRoute, done, ok, toTime } from './route.ts';

export function connectionRoutes({ connections }: Pick<AdminDeps, 'connections'>): readonly AdminRoute[] {
  const path = '/tenants/{tenant}/connections';
  return [
    {
      method: 'get',
      path,
      access: 'tenant',
      handle: async ({ tenant, query }) => {
        const page = pageOf(connections.list(tenant.id), ({ id }) => id, readPage(query));
        return ok({ ...page, items: page.items.map(toView) });
      },
    },
    {
      method: 'delete',
      path: `${path}/{id}`,
      access: 'tenant',
      handle: async ({ tenant, param }) => {
        if (!connections.end(tenant.id, param('id'))) throw notFound('such connection on this node');
        return done;
      },
    },
  ];
}

function toView({ id, server, owner, openedAt, inFlight }: LiveConnection): Readonly<Record<string, unknown>> {
  const whose = owner === undefined ? { owner: null, principal: null } : ownerView(owner);
  return { id, server, ...whose, openedAt: toTime(openedAt), inFlight };
}
