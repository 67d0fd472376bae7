// The keys that seal what is stored: what hangs on which, a new one for a tenant, and the end of all of a tenant's.
import { parseTenantId, type TenantId } from '../shared/id.ts';
import type { AdminDeps } from './ports.ts';
import { notFound, quoted } from './problem.ts';
import { type AdminRoute, type Answer, done, ok, toTime } from './route.ts';

type Deps = Pick<AdminDeps, 'keysAtRest' | 'tenants'>;

export function keysAtRestRoutes({ keysAtRest, tenants }: Deps): readonly AdminRoute[] {
  const shown = async (tenantId: TenantId): Promise<Answer> => {
    const items = (await keysAtRest.dataKeys(tenantId)).map((key) => ({ ...key, createdAt: toTime(key.createdAt) }));
    return ok({ items });
  };
  return [
    {
      method: 'get',
      path: '/vault',
      access: 'operator',
      handle: async () => ok({ masterKeys: await keysAtRest.masterKeys() }),
    },
    {
      method: 'post',
      path: '/tenants/{tenant}/rotate-key',
      access: 'tenant',
      takesNoBody: true,
      async handle({ tenant }) {
        await keysAtRest.rotate(tenant.id);
        return shown(tenant.id);
      },
    },
    {
      method: 'get',
      path: '/tenants/{tenant}/data-keys',
      access: 'tenant',
      handle: ({ tenant }) => shown(tenant.id),
    },
    {
      method: 'delete',
      path: '/tenants/{tenant}/data-keys',
      // It cannot be taken back, and takes what the tenant's people have connected.
      access: 'operator',
      async handle({ param }) {
        const id = parseTenantId(param('tenant'));
        if (id === undefined || (await tenants.find(id)) === undefined)
          throw notFound(`tenant ${quoted(param('tenant'))}`);
        await keysAtRest.shred(id);
        return done;
      },
    },
  ];
}
