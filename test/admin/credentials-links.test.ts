import { describe, expect, it } from 'vitest';
import { aTenantId } from '../credential/in-memory.ts';
import { type AdminApi, openAdminApi, problemsOf } from './an-admin-api.ts';

const CANARY = 'canary-credential-8e';
const PRINCIPAL = 'https://idp.example/a#user/1@x:y';

async function anApi(): Promise<AdminApi> {
  const api = await openAdminApi();
  await api.tenant('acme');
  await api.send('PUT', '/tenants/acme/servers/notes', {
    url: 'https://notes.example/mcp',
    credential: { kind: 'secret' },
  });
  await api.send('PUT', '/tenants/acme/servers/common', {
    url: 'https://common.example/mcp',
    credential: { kind: 'secret', owner: 'tenant' },
  });
  await api.send('PUT', '/tenants/acme/servers/open', { url: 'https://open.example/mcp' });
  return api;
}

const notes = (principal: string): string => `/tenants/acme/servers/notes/credentials/${encodeURIComponent(principal)}`;

describe('credentials', () => {
  it("keep a person's key and the tenant's, show metadata only, and look for the tools", async () => {
    await using api = await anApi();
    const kept = await api.send('PUT', notes(PRINCIPAL), { secret: `Bearer ${CANARY}` });
    expect([kept.status, kept.json]).toEqual([
      200,
      {
        server: 'notes',
        owner: 'principal',
        principal: PRINCIPAL,
        kind: 'secret',
        version: '1',
        updatedAt: '2023-11-14T22:13:20.000Z',
      },
    ]);
    const common = await api.send('PUT', '/tenants/acme/servers/common/credential', { secret: CANARY });
    expect(common.json).toMatchObject({ server: 'common', owner: 'tenant', principal: null });
    expect(api.signedIn).toEqual([
      `acme notes {"kind":"principal","principalId":"${PRINCIPAL}"}`,
      'acme common {"kind":"tenant"}',
    ]);
    const list = await api.send('GET', '/tenants/acme/credentials?limit=1');
    expect(list.json).toMatchObject({ items: [{ server: 'notes', principal: PRINCIPAL, usable: true }] });
    expect(
      (await api.send('GET', `/tenants/acme/credentials?cursor=${String(list.json['nextCursor'])}`)).json,
    ).toMatchObject({ items: [{ server: 'common', owner: 'tenant', principal: null }] });
    expect(api.answers.join('') + api.log.join('')).not.toContain(CANARY);
    expect(JSON.stringify(api.credentials.rows.map((row) => row.sealed.toString('latin1')))).not.toContain(CANARY);
  });

  it('T11: are shown as unusable once the server has moved', async () => {
    await using api = await anApi();
    await api.send('PUT', notes('alice'), { secret: CANARY });
    await api.send('PUT', '/tenants/acme/servers/notes', {
      url: 'https://evil.example/mcp',
      credential: { kind: 'secret' },
    });
    expect((await api.send('GET', '/tenants/acme/credentials')).json).toMatchObject({
      items: [{ server: 'notes', usable: false }],
    });
  });

  it('are forgotten, one person at a time', async () => {
    await using api = await anApi();
    await api.send('PUT', notes(PRINCIPAL), { secret: 'a' });
    await api.send('PUT', notes('bob'), { secret: 'b' });
    expect((await api.send('DELETE', notes(PRINCIPAL))).status).toBe(204);
    expect((await api.send('DELETE', notes(PRINCIPAL))).status).toBe(404);
    expect((await api.send('DELETE', '/tenants/acme/servers/common/credential')).status).toBe(404);
    expect(api.credentials.rows.map(({ owner }) => owner)).toEqual(['p:bob']);
  });

  it.each([
    [{ oauth: { accessToken: CANARY } }, '$.oauth'],
    [{ oauth: { accessToken: `${CANARY}\n` } }, '$.oauth.accessToken'],
    [{ oauth: { accessToken: 'a', token: CANARY } }, '$.oauth.token'],
    [{ oauth: { accessToken: 'a', expiresIn: -1 } }, '$.oauth.expiresIn'],
    [{ secret: CANARY, oauth: { accessToken: 'a' } }, '$.secret'],
    [{ secret: `${CANARY}\r\nX-Evil: 1` }, '$.secret'],
    [{ secret: '' }, '$.secret'],
    [{ secret: 7 }, '$.secret'],
    [{ secret: CANARY, version: 2 }, '$.version'],
    [{}, '$.secret'],
  ])('B233, B245: are refused with %j, without repeating it', async (body, path) => {
    await using api = await anApi();
    const reply = await api.send('PUT', notes('alice'), body);
    expect([reply.status, problemsOf(reply)]).toEqual([422, [path]]);
    expect(reply.text).not.toContain(CANARY);
    expect(api.credentials.rows).toEqual([]);
  });

  it('are refused for the wrong kind of server, owner or principal', async () => {
    await using api = await anApi();
    for (const [path, status] of [
      ['/tenants/acme/servers/notes/credential', 422],
      ['/tenants/acme/servers/common/credentials/alice', 422],
      ['/tenants/acme/servers/open/credential', 422],
      ['/tenants/acme/servers/none/credential', 404],
      [notes(' alice'), 422],
      [notes('a\u0001b'), 422],
      [notes('x'.repeat(513)), 422],
    ] as const) {
      expect([path, (await api.send('PUT', path, { secret: CANARY })).status]).toEqual([path, status]);
    }
    expect(api.credentials.rows).toEqual([]);
  });

  it('stay kept when the tools cannot be looked for', async () => {
    await using api = await anApi();
    Object.assign(api.deps, { signedIn: () => Promise.reject(new Error('down')) });
    expect((await api.send('PUT', notes('alice'), { secret: CANARY })).status).toBe(200);
  });
});

describe('OAuth tokens from elsewhere', () => {
  it('are taken over for one person, and shown as what they are, never as themselves', async () => {
    await using api = await anApi();
    await api.send('PUT', '/tenants/acme/servers/files', {
      url: 'https://files.example/mcp',
      credential: { kind: 'oauth' },
    });
    const oauth = { accessToken: CANARY, refreshToken: `${CANARY}-r`, expiresIn: 3600, scope: 'files mail' };
    const reply = await api.send('PUT', '/tenants/acme/servers/files/credentials/alice', { oauth });
    expect(reply.json).toMatchObject({ server: 'files', principal: 'alice', kind: 'oauth' });
    const listed = await api.send('GET', '/tenants/acme/credentials');
    expect(listed.json).toMatchObject({
      items: [
        {
          server: 'files',
          principal: 'alice',
          kind: 'oauth',
          usable: true,
          issuer: 'https://as.example',
          scopes: ['files', 'mail'],
          renewable: true,
          expiresAt: '2023-11-14T23:13:20.000Z',
        },
      ],
    });
    expect(api.answers.join()).not.toContain(CANARY);
    expect(JSON.stringify(api.credentials.rows)).not.toContain(CANARY);
    expect(api.signedIn).toEqual(['acme files {"kind":"principal","principalId":"alice"}']);
  });

  it('are ended where they came from when they are removed (B213)', async () => {
    await using api = await anApi();
    await api.send('PUT', '/tenants/acme/servers/files', {
      url: 'https://files.example/mcp',
      credential: { kind: 'oauth' },
    });
    await api.send('PUT', '/tenants/acme/servers/files/credentials/alice', { oauth: { accessToken: 'a' } });
    expect((await api.send('DELETE', '/tenants/acme/servers/files/credentials/alice')).status).toBe(204);
    expect(api.disconnected).toEqual([expect.stringMatching(/^acme \S+ p:alice$/)]);
    expect(api.credentials.rows).toEqual([]);
  });
});

describe('connections', () => {
  it('are listed and ended within the tenant only', async () => {
    await using api = await anApi();
    const key = await api.tenant('beta');
    const openedAt = api.clock.now();
    api.live.push({ tenantId: aTenantId('acme'), id: 'c1', server: 'notes', owner: undefined, openedAt, inFlight: 2 });
    expect((await api.send('GET', '/tenants/acme/connections')).json).toEqual({
      items: [
        { id: 'c1', server: 'notes', owner: null, principal: null, openedAt: '2023-11-14T22:13:20.000Z', inFlight: 2 },
      ],
    });
    expect((await api.send('DELETE', '/tenants/beta/connections/c1', undefined, { key })).status).toBe(404);
    expect((await api.send('DELETE', '/tenants/acme/connections/c1')).status).toBe(204);
    expect(api.live).toEqual([]);
  });
});

describe('connect links', () => {
  const path = '/tenants/acme/connect-links';

  it('are for the one server that waits for this person, or the one that is named', async () => {
    await using api = await anApi();
    const link = await api.send('POST', path, { principal: PRINCIPAL, returnTo: 'https://app.example/done' });
    expect(link.status).toBe(201);
    expect(link.json).toMatchObject({
      url: expect.stringMatching(/^https:\/\/px\.test\/connect\/[\w-]{43}$/),
      expiresAt: '2023-11-14T22:23:20.000Z',
      server: 'notes',
    });
    expect(api.ticketRows.rows).toMatchObject([{ tenantId: 'acme', principalId: PRINCIPAL }]);
    await api.send('PUT', '/tenants/acme/servers/second', {
      url: 'https://second.example/mcp',
      credential: { kind: 'secret' },
    });
    const unclear = await api.send('POST', path, { principal: PRINCIPAL });
    expect([unclear.status, problemsOf(unclear)]).toEqual([422, ['$.servers']]);
    expect(unclear.text).toContain('notes, second');
    expect((await api.send('POST', path, { principal: PRINCIPAL, servers: ['second'] })).json).toMatchObject({
      server: 'second',
    });
    await api.send('PUT', notes(PRINCIPAL), { secret: 'x' });
    expect((await api.send('POST', path, { principal: PRINCIPAL })).json).toMatchObject({ server: 'second' });
  });

  it.each([
    [{}, '$.principal'],
    [{ principal: '' }, '$.principal'],
    [{ principal: 'a', servers: ['notes', 'second'] }, '$.servers'],
    [{ principal: 'a', servers: [] }, '$.servers'],
    [{ principal: 'a', servers: ['none'] }, '$.servers[0]'],
    [{ principal: 'a', servers: ['open'] }, '$.servers[0]'],
    [{ principal: 'a', servers: ['common'] }, '$.servers[0]'],
    [{ principal: 'a', returnTo: 'javascript:alert(1)' }, '$.returnTo'],
  ])('are refused with %j', async (body, at) => {
    await using api = await anApi();
    const reply = await api.send('POST', path, body);
    expect([reply.status, problemsOf(reply)]).toEqual([422, [at]]);
  });

  it('are refused for a server that does not work, with the reason', async () => {
    await using api = await anApi();
    const messageFor = async (name: string): Promise<unknown> =>
      (await api.send('POST', path, { principal: 'a', servers: [name] })).json['problems'];
    await api.deps.servers.put(aTenantId('acme'), 'broken', { url: 'https://b.example/mcp', timeoutMs: -1 }, true);
    await api.deps.servers.put(aTenantId('acme'), 'off', { url: 'https://o.example/mcp' }, false);
    const at = '$.servers[0]';
    const none = 'is no working server of this tenant';
    expect(await messageFor('none')).toEqual([{ path: at, message: none }]);
    expect(await messageFor('off')).toEqual([{ path: at, message: `${none}: it is not enabled` }]);
    expect(await messageFor('broken')).toEqual([
      {
        path: at,
        message: expect.stringMatching(
          /^is no working server of this tenant: its definition does not hold, \$\.timeoutMs \w/,
        ),
      },
    ]);
  });

  it('are not made where the page would refuse whoever opens them', async () => {
    await using api = await anApi();
    Object.assign(api.deps, { linkSignInAllowed: () => false });
    const refused = await api.send('POST', path, { principal: 'alice' });
    expect(refused.status).toBe(409);
    expect(refused.json['detail']).toContain('set "signIn" of the tenant to mode oidc or handoff');
    expect(api.ticketRows.rows).toEqual([]);
    const signIn = { mode: 'handoff', verifyUrl: 'https://app.example/verify', key: 'key-of-the-product' };
    await api.send('PATCH', '/tenants/acme', { signIn });
    expect((await api.send('POST', path, { principal: 'alice' })).status).toBe(201);
  });

  it('say when there is nothing to sign in to, and when too many are open', async () => {
    await using api = await anApi();
    await api.send('PUT', notes('alice'), { secret: 'x' });
    expect((await api.send('POST', path, { principal: 'alice' })).status).toBe(422);
    Object.assign(api.ticketRows, { countOpen: async () => 50 });
    const reply = await api.send('POST', path, { principal: 'bob' });
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '600']);
  });
});
