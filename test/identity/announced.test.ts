// This node is told at once of what it wrote itself about a tenant: also of one made anew, whose id may have been another's.
import { expect, it } from 'vitest';
import { announcedTenants } from '../../src/identity/announced.ts';
import type { Tenant, TenantStore } from '../../src/identity/tenant-store.ts';
import type { Change } from '../../src/shared/changes.ts';
import type { TenantId } from '../../src/shared/id.ts';

const id = 'acme' as TenantId;
const TENANT: Tenant = { id, name: 'Acme', signIn: { mode: 'link' }, gatedDefault: false, limits: {} };

function aStore(created: Tenant | undefined): TenantStore {
  return {
    list: () => Promise.resolve({ items: [], next: undefined }),
    find: () => Promise.resolve(TENANT),
    create: () => Promise.resolve(created),
    update: () => Promise.resolve(TENANT),
    remove: () => Promise.resolve(true),
  };
}

it('says each time that a tenant was made, changed or removed, after it was written', async () => {
  const said: Change[] = [];
  const tenants = announcedTenants(aStore(TENANT), (change) => said.push(change));
  for (const write of [() => tenants.create(TENANT), () => tenants.update(id, {}), () => tenants.remove(id)]) {
    const written = write();
    expect(said).toEqual([]);
    await written;
    expect(said.splice(0)).toEqual([{ kind: 'tenants', tenantId: id }]);
  }
});

it('says nothing of a tenant that could not be made', async () => {
  const said: Change[] = [];
  await announcedTenants(aStore(undefined), (change) => said.push(change)).create(TENANT);
  expect(said).toEqual([]);
});
