// A tenant with one row in every table that has a tenant; what has to be unique for all is made of its id.
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createAgentKeyStore } from '../../src/store/agent-keys.ts';
import { createDataKeyStore } from '../../src/store/data-keys.ts';
import { createIssuerStore } from '../../src/store/issuers.ts';
import { addCatalog, addCredential, addServer, addTenant, addTicket, type OpenStore } from './open-store.ts';

export async function fillTenant(store: OpenStore, id: string): Promise<void> {
  const { database, clock } = store;
  const tenant = await addTenant(database, id);
  const serverId = await addServer(database, tenant, 'linear');
  const now = clock.now();
  const issuer = {
    tenantId: tenant,
    issuer: 'https://id.example',
    jwksUri: 'https://id.example/jwks',
    jwks: undefined,
    audience: 'kb',
  };
  await createIssuerStore(database).put({
    ...issuer,
    principalClaim: 'sub',
    tenantClaim: undefined,
    algorithms: ['ES256'],
  });
  const key = {
    tenantId: tenant,
    id: 'k1',
    name: 'k',
    keyHash: Buffer.from(`hash of ${id}`),
    principal: undefined,
    mayActFor: '*',
  } as const;
  await createAgentKeyStore(database).create({ ...key, scopes: [], expiresAt: undefined, createdAt: now });
  await addCatalog(database, tenant, serverId, now);
  await addCredential(database, tenant, serverId, now);
  await createDataKeyStore(database).ensure(tenant, { id: 'd1', wrapped: Buffer.from('w'), masterKeyId: 'm' });
  await addTicket(database, tenant, serverId, `ticket of ${id}`, now + 600_000);
  await fillSignIns(store, tenant, serverId);
}

async function fillSignIns({ clock, admin }: OpenStore, tenant: TenantId, serverId: ServerId): Promise<void> {
  const later = new Date(clock.now() + 600_000);
  const hash = (what: string): Buffer => Buffer.from(`${what} of ${tenant}`);
  const insert = (table: string, row: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const names = ['tenant_id', ...Object.keys(row)];
    const places = names.map((_, n) => `$${n + 1}`).join(', ');
    return admin.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, [
      tenant,
      ...Object.values(row),
    ]);
  };
  const owned = { server_id: serverId, owner: 'p:ada' };
  await insert('renewals', { ...owned, until: later });
  await insert('scope_needs', { ...owned, tool: 't', scopes: ['s'], found_at: later });
  await insert('oauth_clients', { server_id: serverId, issuer: 'https://as.example', until: later });
  const attempt = { context_id: 'c', principal_id: 'ada', server_id: serverId, binding: 'b', sealed: hash('sealed') };
  await insert('sign_in_attempts', {
    ...attempt,
    state_hash: hash('state'),
    browser_hash: hash('browser'),
    expires_at: later,
  });
  await insert('browser_sessions', { hash: hash('session'), principals: ['ada'], proof: 'link', expires_at: later });
  const signIn = {
    id: `sign-in of ${tenant}`,
    mode: 'handoff',
    browser_hash: hash('browser'),
    code_hash: hash('code'),
    code_expires_at: later,
    expires_at: later,
  };
  await insert('browser_sign_ins', signIn);
  await insert('ticket_mismatches', { ticket_hash: hash('ticket') });
}
