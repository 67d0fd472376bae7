import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentKey, Issuer } from '../../src/identity/tenant-store.ts';
import { createAgentKeyStore } from '../../src/store/agent-keys.ts';
import { createIssuerStore } from '../../src/store/issuers.ts';
import { addTenant, type OpenStore, openStore, tenantId } from './open-store.ts';

let store: OpenStore;
beforeAll(async () => {
  store = await openStore();
  for (const id of ['acme', 'beta']) await addTenant(store.database, id);
});
afterAll(() => store.close());

const acme = tenantId('acme');
const beta = tenantId('beta');

describe('issuers', () => {
  const inline: Issuer = {
    tenantId: acme,
    issuer: 'https://id.example',
    jwksUri: undefined,
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'abc' }] },
    audience: 'https://mcp.example',
    principalClaim: 'email',
    tenantClaim: 'org',
    algorithms: ['EdDSA', 'ES256'],
  };
  const remote: Issuer = {
    ...inline,
    tenantId: beta,
    jwksUri: 'https://id.example/jwks',
    jwks: undefined,
    tenantClaim: undefined,
  };

  it('finds every tenant that registered an issuer, and lists only the own', async () => {
    const issuers = createIssuerStore(store.database);
    await issuers.put(inline);
    await issuers.put(remote);
    expect(await issuers.findByIssuer('https://id.example')).toEqual([inline, remote]);
    expect(await issuers.list(acme)).toEqual([inline]);
    expect(await issuers.findByIssuer('https://id.example/')).toEqual([]);
    expect(await issuers.findByIssuer('https://id.example\u0000')).toEqual([]);
  });

  it('replaces on put, and removes only for the tenant that asks', async () => {
    const issuers = createIssuerStore(store.database);
    await issuers.put(inline);
    await issuers.put({ ...inline, jwks: undefined, jwksUri: 'https://id.example/keys' });
    expect(await issuers.list(acme)).toMatchObject([{ jwks: undefined, jwksUri: 'https://id.example/keys' }]);
    await issuers.put(remote);
    expect(await issuers.remove(acme, inline.issuer)).toBe(true);
    expect(await issuers.remove(acme, inline.issuer)).toBe(false);
    expect(await issuers.list(beta)).toEqual([remote]);
  });

  it('refuses two sources of keys, or none', async () => {
    const issuers = createIssuerStore(store.database);
    await expect(issuers.put({ ...inline, jwksUri: 'https://id.example/jwks' })).rejects.toMatchObject({
      constraint: 'issuers_one_key_source',
    });
    await expect(issuers.put({ ...inline, jwks: undefined })).rejects.toMatchObject({
      constraint: 'issuers_one_key_source',
    });
  });

  it('reads a set of keys that is none as an empty one, which accepts nothing', async () => {
    await store.admin.query(
      `INSERT INTO issuers (tenant_id, issuer, jwks, audience, algorithms) VALUES ('acme', 'https://by-hand.example', '"oops"', 'a', '{ES256}')`,
    );
    expect(await createIssuerStore(store.database).findByIssuer('https://by-hand.example')).toMatchObject([
      { jwks: { keys: [] } },
    ]);
  });

  it('B266: keeps an issuer of 2 kB', async () => {
    const issuer = `https://id.example/${randomBytes(1_000).toString('hex')}`;
    await createIssuerStore(store.database).put({ ...inline, issuer });
    expect(await createIssuerStore(store.database).findByIssuer(issuer)).toHaveLength(1);
  });
});

describe('agent keys', () => {
  const key: AgentKey = {
    tenantId: acme,
    id: 'k1',
    name: 'CI',
    keyHash: randomBytes(32),
    principal: undefined,
    mayActFor: ['ada', 'o"brien', '{x,y}', '*'],
    scopes: ['mcp', 'admin:acme'],
    expiresAt: 1_700_000_000_123,
    createdAt: 1_600_000_000_456,
  };

  it('finds a key by its hash alone, exactly as it was made', async () => {
    const keys = createAgentKeyStore(store.database);
    const anyone: AgentKey = { ...key, id: 'k2', keyHash: randomBytes(32), mayActFor: '*', expiresAt: undefined };
    const fixed: AgentKey = { ...key, tenantId: beta, keyHash: randomBytes(32), principal: 'svc', mayActFor: [] };
    for (const each of [key, anyone, fixed]) await keys.create(each);
    for (const each of [key, anyone, fixed]) expect(await keys.findByHash(each.keyHash)).toEqual(each);
    expect(await keys.findByHash(randomBytes(32))).toBeUndefined();
    expect(await keys.list(acme)).toEqual([key, anyone]);
  });

  it('does not take a list with a principal called * for everybody', async () => {
    const listed: AgentKey = { ...key, id: 'star', keyHash: randomBytes(32), mayActFor: ['*'] };
    await createAgentKeyStore(store.database).create(listed);
    expect((await createAgentKeyStore(store.database).findByHash(listed.keyHash))?.mayActFor).toEqual(['*']);
  });

  it('removes a key only for its own tenant', async () => {
    const keys = createAgentKeyStore(store.database);
    const mine: AgentKey = { ...key, id: 'mine', keyHash: randomBytes(32) };
    await keys.create(mine);
    expect(await keys.remove(beta, 'mine')).toBe(false);
    expect(await keys.remove(acme, 'mine')).toBe(true);
    expect(await keys.findByHash(mine.keyHash)).toBeUndefined();
  });
});
