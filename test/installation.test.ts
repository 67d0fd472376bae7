import { expect, it } from 'vitest';
import type { Tenant } from '../src/identity/tenant-store.ts';
import { hasLinkTenant } from '../src/installation.ts';
import { aTenantId } from './credential/in-memory.ts';

const tenant = (id: string, signIn: Tenant['signIn']): Tenant => ({
  id: aTenantId(id),
  name: id,
  signIn,
  gatedDefault: false,
  limits: {},
});
const OIDC = { mode: 'oidc', issuer: 'https://idp.example', clientId: 'kb' } as const;

/** One tenant a page. */
const storeOf = (...tenants: readonly Tenant[]) => ({
  async list(after: string | undefined) {
    const at = after === undefined ? 0 : Number(after);
    const next = at + 1 < tenants.length ? String(at + 1) : undefined;
    return { items: tenants.slice(at, at + 1), next };
  },
});

it('a tenant whose people sign in by link alone is found on whatever page', async () => {
  expect(await hasLinkTenant(storeOf())).toBe(false);
  expect(await hasLinkTenant(storeOf(tenant('a', OIDC), tenant('b', OIDC)))).toBe(false);
  expect(await hasLinkTenant(storeOf(tenant('a', OIDC), tenant('b', { mode: 'link' })))).toBe(true);
});
