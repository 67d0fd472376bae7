import { describe, expect, it } from 'vitest';
import { signInContext } from '../../src/credential/seal-context.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { openAdminApi, problemsOf } from './an-admin-api.ts';

describe('tenants', () => {
  it('are made with plain defaults, listed by pages, changed and removed', async () => {
    await using api = await openAdminApi();
    const made = await api.send('POST', '/tenants', { id: 'acme' });
    expect([made.status, made.json]).toEqual([
      201,
      { id: 'acme', name: 'acme', signIn: { mode: 'link' }, gatedDefault: false, limits: {} },
    ]);
    await api.send('POST', '/tenants', { id: 'beta' });
    await api.send('POST', '/tenants', { id: 'gamma' });
    const first = await api.send('GET', '/tenants?limit=2');
    expect((first.json['items'] as { id: string }[]).map(({ id }) => id)).toEqual(['acme', 'beta']);
    const second = await api.send('GET', `/tenants?limit=2&cursor=${String(first.json['nextCursor'])}`);
    expect(second.json).toMatchObject({ items: [{ id: 'gamma' }] });
    expect(second.json).not.toHaveProperty('nextCursor');
    expect(
      (
        await api.send('PATCH', '/tenants/acme', {
          name: 'Acme',
          gatedDefault: 'destructive',
          limits: { maxConnections: 5 },
        })
      ).json,
    ).toMatchObject({
      name: 'Acme',
      gatedDefault: 'destructive',
      limits: { maxConnections: 5 },
    });
    expect((await api.send('DELETE', '/tenants/acme')).status).toBe(204);
    expect((await api.send('DELETE', '/tenants/acme')).status).toBe(404);
    expect((await api.send('GET', '/tenants/acme')).status).toBe(404);
  });

  it('are refused with an id that cannot be one, or is taken', async () => {
    await using api = await openAdminApi();
    for (const id of ['', 'Acme', '-a', 'a b', 'a'.repeat(65), '../x']) {
      const reply = await api.send('POST', '/tenants', { id });
      expect([reply.status, problemsOf(reply)]).toEqual([422, ['$.id']]);
    }
    await api.send('POST', '/tenants', { id: 'acme', name: 'first' });
    expect((await api.send('POST', '/tenants', { id: 'acme', name: 'second' })).status).toBe(409);
    expect(api.tenants.get('acme')?.name).toBe('first');
  });

  it('keep the secret of their sign-in sealed, and show it to nobody', async () => {
    await using api = await openAdminApi();
    const canary = 'canary-sign-in-41';
    const oidc = { mode: 'oidc', issuer: 'https://idp.example', clientId: 'kb', clientSecret: canary };
    const made = await api.send('POST', '/tenants', { id: 'acme', signIn: oidc });
    expect(made.json).toMatchObject({ signIn: { ...oidc, clientSecret: { sealed: true } } });
    const stored = api.tenants.get('acme')?.signIn;
    if (stored?.mode !== 'oidc' || stored.clientSecret === undefined) throw new Error('not stored');
    expect(stored.clientSecret).not.toContain(canary);
    const sealed = Buffer.from(stored.clientSecret.slice('sealed:'.length), 'base64');
    expect(
      (await api.vault.open(aTenantId('acme'), signInContext('clientSecret', 'https://idp.example'), sealed)).reveal(),
    ).toBe(canary);

    // What was shown, sent back: the secret stays.
    await api.send('PATCH', '/tenants/acme', {
      signIn: { ...oidc, clientId: 'other', clientSecret: { sealed: true } },
    });
    expect(api.tenants.get('acme')?.signIn).toEqual({ ...oidc, clientId: 'other', clientSecret: stored.clientSecret });
    // But it does not follow the setting to another address.
    const moved = await api.send('PATCH', '/tenants/acme', {
      signIn: { ...oidc, issuer: 'https://evil.example', clientSecret: { sealed: true } },
    });
    expect([moved.status, problemsOf(moved)]).toEqual([422, ['$.signIn.clientSecret']]);
    const handoff = await api.send('PATCH', '/tenants/acme', {
      signIn: { mode: 'handoff', verifyUrl: 'https://app.example/verify', key: canary },
    });
    expect(handoff.json).toMatchObject({ signIn: { key: { sealed: true } } });
    await api.send('GET', '/tenants');
    expect(api.answers.join('')).not.toContain(canary);
    expect(JSON.stringify([...api.tenants.values()])).not.toContain(canary);
  });
});

describe('issuers', () => {
  const issuer = {
    issuer: 'https://idp.example/',
    jwksUri: 'https://idp.example/jwks',
    audience: 'https://px.test/mcp',
  };

  it('are put, listed and removed by their name', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const path = '/tenants/acme/issuers';
    const made = await api.send('POST', path, issuer);
    expect([made.status, made.json]).toEqual([
      201,
      { ...issuer, principalClaim: 'sub', tenantClaim: null, algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    ]);
    expect((await api.send('PUT', path, { ...issuer, audience: 'other' })).status).toBe(200);
    expect((await api.send('GET', path)).json).toMatchObject({
      items: [{ issuer: 'https://idp.example/', audience: 'other' }],
    });
    expect((await api.send('DELETE', path)).status).toBe(400);
    expect((await api.send('DELETE', `${path}?issuer=${encodeURIComponent(issuer.issuer)}`)).status).toBe(204);
    expect((await api.send('DELETE', `${path}?issuer=${encodeURIComponent(issuer.issuer)}`)).status).toBe(404);
  });

  it.each([
    [{ jwks: { keys: [{ kty: 'RSA' }] } }, '$.jwksUri'],
    [{ jwksUri: null }, '$.jwksUri'],
    [{ jwksUri: 'http://idp.example/jwks' }, '$.jwksUri'],
    [{ issuer: 'https://idp.example#x' }, '$.issuer'],
    [{ audience: '' }, '$.audience'],
    [{ algorithms: ['HS256'] }, '$.algorithms[0]'],
    [{ algorithms: ['none'] }, '$.algorithms[0]'],
    [{ jwksUri: null, jwks: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB', d: 'canary-private' }] } }, '$.jwks.keys[0]'],
    [{ jwksUri: null, jwks: { keys: [{ kty: 'oct', k: 'canary-private' }] } }, '$.jwks.keys[0]'],
  ])('T13: refuses %j', async (change, path) => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const reply = await api.send('POST', '/tenants/acme/issuers', { ...issuer, ...change });
    expect([reply.status, problemsOf(reply)]).toEqual([422, [path]]);
    expect(reply.text).not.toContain('canary-private');
    expect(api.issuers).toEqual([]);
  });

  it("never take another tenant's registration out of force", async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    await api.tenant('beta');
    const put = async (tenant: string, change: object): Promise<number> =>
      (await api.send('PUT', `/tenants/${tenant}/issuers`, { ...issuer, ...change })).status;
    expect(await put('acme', {})).toBe(200);
    expect(await put('acme', {})).toBe(200);
    expect(await put('beta', {})).toBe(409);
    expect(await put('beta', { jwksUri: 'https://elsewhere.example/jwks' })).toBe(409);
    expect(await put('beta', { audience: 'https://beta.example' })).toBe(200);
    expect(await put('beta', { tenantClaim: 'org' })).toBe(200);
  });
});

describe('agent keys', () => {
  it('are shown once, stored hashed, listed without themselves, and ended', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const made = await api.send('POST', '/tenants/acme/keys', {
      name: 'assistant',
      mayActFor: ['alice', 'bob'],
      scopes: ['tools'],
      expiresAt: '2099-01-01T00:00:00+01:00',
    });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: 'assistant',
      principal: null,
      mayActFor: ['alice', 'bob'],
      scopes: ['tools'],
      expiresAt: '2098-12-31T23:00:00.000Z',
    });
    const { id, key } = made.json as { id: string; key: string };
    expect(key).toMatch(/^kb_/);
    const list = await api.send('GET', '/tenants/acme/keys');
    expect(list.json['items']).toHaveLength(2);
    expect(list.text).not.toContain(key);
    expect(list.text).not.toMatch(/hash/i);
    expect((await api.send('DELETE', `/tenants/acme/keys/${id}`)).status).toBe(204);
    expect((await api.send('DELETE', `/tenants/acme/keys/${id}`)).status).toBe(404);
  });

  it('of another tenant are not found', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    await api.tenant('beta');
    const foreign = api.keys.find(({ tenantId }) => tenantId === 'beta');
    expect((await api.send('DELETE', `/tenants/acme/keys/${String(foreign?.id)}`, undefined, { key })).status).toBe(
      404,
    );
    expect(api.keys).toHaveLength(2);
  });

  it.each([
    [{ name: 'x' }, '$'],
    [{ name: 'x', principal: 'a', mayActFor: '*' }, '$.mayActFor'],
    [{ name: 'x', mayActFor: 'alice' }, '$.mayActFor'],
    [{ name: 'x', principal: ' a' }, '$'],
    [{ name: 'x', principal: 'a', expiresAt: '2001-01-01T00:00:00Z' }, '$'],
    [{ name: 'x', principal: 'a', expiresAt: 'tomorrow' }, '$.expiresAt'],
    [{ name: 'x', principal: 'a', scopes: ['a b'] }, '$.scopes[0]'],
    [{ principal: 'a' }, '$.name'],
  ])('are refused with %j', async (body, path) => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const reply = await api.send('POST', '/tenants/acme/keys', body);
    expect([reply.status, problemsOf(reply)]).toEqual([422, [path]]);
    expect(api.keys).toHaveLength(1);
  });
});
