import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialKey, type StoredCredential } from '../../src/credential/credential-store.ts';
import type { Ticket } from '../../src/credential/ticket-store.ts';
import type { ServerId } from '../../src/shared/id.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { createDataKeyStore } from '../../src/store/data-keys.ts';
import { createTicketStore } from '../../src/store/tickets.ts';
import { addServer, addTenant, type OpenStore, openStore, principalId, tenantId } from './open-store.ts';

const acme = tenantId('acme');
const beta = tenantId('beta');
const NOW = 1_700_000_000_000;

let store: OpenStore;
let serverId: ServerId;
beforeAll(async () => {
  store = await openStore();
  for (const id of ['acme', 'beta']) await addTenant(store.database, id);
  serverId = await addServer(store.database, acme, 'linear');
});
afterAll(() => store.close());

function aCredential(owner: string): Omit<StoredCredential, 'version' | 'updatedAt'> {
  return {
    tenantId: acme,
    serverId,
    owner,
    kind: 'secret',
    binding: 'https://mcp.example.com',
    sealed: randomBytes(40),
    details: {},
  };
}

describe('credentials', () => {
  it('are found under exactly their tenant, server and owner', async () => {
    const credentials = createCredentialStore(store.database);
    const ada = aCredential('p:ada');
    const version = await credentials.put(ada, NOW);
    expect(await credentials.find(acme, serverId, 'p:ada')).toEqual({ ...ada, version, updatedAt: NOW });
    expect(await credentials.find(beta, serverId, 'p:ada')).toBeUndefined();
    expect(await credentials.find(acme, serverId, 'p:ADA')).toBeUndefined();
    expect(await credentials.find(acme, serverId, '')).toBeUndefined();
  });

  it('grow their version with each write, also after they were removed', async () => {
    const credentials = createCredentialStore(store.database);
    const grace = aCredential('p:grace');
    const versions = [await credentials.put(grace, NOW), await credentials.put(grace, NOW)];
    expect(await credentials.remove(acme, serverId, 'p:grace')).toMatchObject({ ...grace, version: versions[1] });
    expect(await credentials.remove(acme, serverId, 'p:grace')).toBeUndefined();
    versions.push(await credentials.put(grace, NOW));
    const numbers = versions.map(BigInt);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => (a < b ? -1 : 1)));
  });

  it('tell the versions of the keys that exist, however many are asked', async () => {
    const credentials = createCredentialStore(store.database);
    const key = { tenantId: acme, serverId, owner: 'p:versions' };
    const version = await credentials.put(aCredential(key.owner), NOW);
    const missing = Array.from({ length: 2_000 }, (_, n) => ({ ...key, owner: `p:nobody-${n}` }));
    const found = await credentials.versions(acme, [key, ...missing]);
    expect([...found]).toEqual([[credentialKey(key), version]]);
    expect(await credentials.versions(beta, [key])).toEqual(new Map());
    expect(await credentials.versions(acme, [])).toEqual(new Map());
  });

  it('are listed page by page, and only those of the tenant', async () => {
    const other = await openStore();
    await addTenant(other.database, 'acme');
    await addTenant(other.database, 'beta');
    const credentials = createCredentialStore(other.database);
    const owners = ['', 'p:a', 'p:b', 'p:ü', 'p:"\\'];
    for (const owner of owners) await credentials.put(aCredential(owner), NOW);
    await credentials.put({ ...aCredential('p:x'), tenantId: beta }, NOW);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await credentials.list(acme, cursor, 2);
      seen.push(...page.items.map(({ owner }) => owner));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual([...owners].sort());
    await expect(credentials.list(acme, 'WyJvbmUiXQ', 2)).rejects.toMatchObject({ code: 'invalid_request' });
    await other.close();
  });

  it('B266: keep a secret of 64 kB, a binding of 2 kB and the longest principal', async () => {
    const credentials = createCredentialStore(store.database);
    const owner = `p:${'\u{20ac}'.repeat(512)}`;
    const long = { ...aCredential(owner), sealed: randomBytes(65_536), binding: randomBytes(1_024).toString('hex') };
    await credentials.put(long, NOW);
    expect(await credentials.find(acme, serverId, owner)).toMatchObject(long);
  });

  it('are refused when this version does not know their kind', async () => {
    const credentials = createCredentialStore(store.database);
    await credentials.put(aCredential('p:future'), NOW);
    await store.admin.query(`UPDATE credentials SET kind = 'passkey' WHERE owner = 'p:future'`);
    await expect(credentials.find(acme, serverId, 'p:future')).rejects.toMatchObject({ code: 'internal' });
    await credentials.remove(acme, serverId, 'p:future');
  });
});

describe('data keys', () => {
  it('are one per tenant, whoever asks first, and never another tenant’s', async () => {
    const dataKeys = createDataKeyStore(store.database);
    const candidates = Array.from({ length: 8 }, (_, n) => ({
      id: `k${n}`,
      wrapped: randomBytes(60),
      masterKeyId: 'm',
    }));
    const given = await Promise.all(candidates.map((key) => dataKeys.ensure(acme, key)));
    expect(new Set(given.map(({ id }) => id)).size).toBe(1);
    expect(candidates).toContainEqual(given[0]);
    expect(await dataKeys.list(acme)).toEqual([given[0]]);
    expect(await dataKeys.list(beta)).toEqual([]);
  });
});

describe('tickets', () => {
  function aTicket(): Ticket {
    return {
      tenantId: acme,
      hash: randomBytes(32),
      principalId: principalId('ada'),
      serverId,
      binding: 'b',
      challenge: undefined,
      scopes: [],
      expiresAt: NOW + 600_000,
    };
  }

  it('are good once, also when many browsers come at the same time', async () => {
    const tickets = createTicketStore(store.database);
    const ticket = aTicket();
    await tickets.create(ticket);
    expect(await tickets.find(ticket.hash, NOW)).toEqual(ticket);
    const consumed = await Promise.all(Array.from({ length: 8 }, () => tickets.consume(ticket.hash, NOW)));
    expect(consumed.filter((each) => each !== undefined)).toEqual([ticket]);
    expect(await tickets.find(ticket.hash, NOW)).toBeUndefined();
  });

  it('end at their time, by the clock of the asker', async () => {
    const tickets = createTicketStore(store.database);
    const ticket = aTicket();
    await tickets.create(ticket);
    expect(await tickets.find(ticket.hash, ticket.expiresAt - 1)).toEqual(ticket);
    expect(await tickets.find(ticket.hash, ticket.expiresAt)).toBeUndefined();
    expect(await tickets.consume(ticket.hash, ticket.expiresAt)).toBeUndefined();
    expect(await tickets.consume(ticket.hash, ticket.expiresAt - 1)).toEqual(ticket);
  });

  it('count as open for one principal of one tenant, while they are neither used nor over', async () => {
    const tickets = createTicketStore(store.database);
    const grace = principalId('grace');
    const first = { ...aTicket(), principalId: grace };
    for (const ticket of [
      first,
      { ...aTicket(), principalId: grace, expiresAt: NOW + 1 },
      { ...aTicket(), principalId: grace, tenantId: beta },
    ]) {
      await tickets.create(ticket);
    }
    expect(await tickets.countOpen(acme, grace, NOW)).toBe(2);
    expect(await tickets.countOpen(acme, grace, NOW + 1)).toBe(1);
    await tickets.consume(first.hash, NOW);
    expect(await tickets.countOpen(acme, grace, NOW + 1)).toBe(0);
  });

  it('do not pile up: a new one sweeps those of the same person that ended long ago', async () => {
    const tickets = createTicketStore(store.database);
    const principal = principalId('sweeper');
    const old = { ...aTicket(), principalId: principal };
    await tickets.create(old);
    await tickets.create({ ...aTicket(), principalId: principal, expiresAt: old.expiresAt + 25 * 3_600_000 });
    expect(await store.admin.query(`SELECT hash FROM tickets WHERE principal_id = 'sweeper'`)).toHaveLength(1);
  });
});
