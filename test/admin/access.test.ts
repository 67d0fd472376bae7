import { describe, expect, it } from 'vitest';
import { adminRoutes } from '../../src/admin/routes.ts';
import { OPERATOR_KEY, openAdminApi, problemsOf } from './an-admin-api.ts';

describe('who may use the admin API', () => {
  it.each([undefined, '', 'wrong', `${OPERATOR_KEY}x`, `kb_${'A'.repeat(43)}`])(
    'answers 401 to key %j on every address, before it reads a body',
    async (key) => {
      await using api = await openAdminApi();
      await api.tenant('acme');
      for (const [method, path] of [
        ['GET', '/tenants'],
        ['POST', '/tenants'],
        ['GET', '/tenants/acme'],
        ['GET', '/nothing'],
        ['PUT', '/tenants/acme/servers/x'],
      ] as const) {
        const reply = await api.send(method, path, method === 'GET' ? undefined : '{ not json', { key });
        expect(reply.status).toBe(401);
        expect(reply.headers.get('www-authenticate')).toContain('Bearer');
        expect(reply.type).toBe('application/problem+json; charset=utf-8');
        expect(reply.json).toMatchObject({ type: 'about:blank', title: 'Unauthorized', status: 401 });
      }
    },
  );

  it("says of a key in the form of an agent's that it is one, whether or not there is such a key", async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const made = await api.send('POST', '/tenants/acme/keys', { name: 'agent', mayActFor: '*' });
    const detailFor = async (key: string): Promise<unknown> =>
      (await api.send('GET', '/tenants/acme', undefined, { key })).json['detail'];
    const told = await detailFor(String(made.json['key']));
    expect(told).toMatch(/^The admin API needs an admin key\. One that begins with kb_ is an agent's/);
    expect(await detailFor(`kb_${'A'.repeat(43)}`)).toBe(told);
    expect(await detailFor('wrong')).toBe('The admin API needs an admin key.');
  });

  it('takes the key from the Authorization header only', async () => {
    await using api = await openAdminApi();
    for (const headers of [
      { cookie: `key=${OPERATOR_KEY}` },
      { 'x-api-key': OPERATOR_KEY },
      { authorization: `Basic ${OPERATOR_KEY}` },
      { authorization: OPERATOR_KEY },
    ]) {
      expect(
        (await api.send('GET', `/tenants?access_token=${OPERATOR_KEY}`, undefined, { key: undefined, headers })).status,
      ).toBe(401);
    }
    expect(
      (
        await api.send('GET', '/tenants', undefined, {
          key: undefined,
          headers: { authorization: `bearer  ${OPERATOR_KEY}` },
        })
      ).status,
    ).toBe(200);
  });

  it('lets a tenant admin into its own tenant, and shows any other as missing', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    await api.tenant('beta');
    expect((await api.send('GET', '/tenants/acme', undefined, { key })).status).toBe(200);
    const foreign = await api.send('GET', '/tenants/beta', undefined, { key });
    const missing = await api.send('GET', '/tenants/gamma', undefined, { key });
    expect([foreign.status, foreign.text]).toEqual([404, missing.text]);
    for (const { method, path, access } of adminRoutes(api.deps)) {
      if (access === 'operator') continue;
      const foreignPath = path.replace('{tenant}', 'beta').replaceAll(/\{\w+\}/g, 'x');
      const body = method === 'get' || method === 'delete' ? undefined : {};
      expect([path, (await api.send(method.toUpperCase(), foreignPath, body, { key })).status]).toEqual([path, 404]);
    }
  });

  it('keeps the collection of tenants, removing one, and limits to the operator', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    for (const [method, path, body] of [
      ['GET', '/tenants', undefined],
      ['POST', '/tenants', { id: 'mine' }],
      ['DELETE', '/tenants/acme', undefined],
      ['DELETE', '/tenants/gamma', undefined],
      ['PATCH', '/tenants/acme', { limits: { maxConnections: 5 } }],
    ] as const) {
      expect((await api.send(method, path, body, { key })).status).toBe(403);
    }
    expect(api.tenants.has('acme')).toBe(true);
    expect((await api.send('PATCH', '/tenants/acme', { name: 'Acme Inc' }, { key })).json).toMatchObject({
      name: 'Acme Inc',
      limits: {},
    });
  });

  it("gives nothing to agents' keys, to expired keys, and to a scope for another tenant", async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    await api.tenant('beta');
    const post = async (body: unknown) => (await api.send('POST', '/tenants/acme/keys', body)).json;
    const agent = await post({ name: 'agent', principal: 'alice', scopes: ['tools', 'admin'] });
    const brief = await post({
      name: 'brief',
      scopes: ['admin:acme'],
      expiresAt: new Date(api.clock.now() + 1000).toISOString(),
    });
    const index = api.keys.findIndex(({ id }) => id === agent['id']);
    expect((await api.send('GET', '/tenants/acme', undefined, { key: String(agent['key']) })).status).toBe(401);
    // Written by hand past the API's own check.
    const stored = api.keys[index];
    if (stored !== undefined) api.keys[index] = { ...stored, scopes: ['admin:beta'] };
    expect((await api.send('GET', '/tenants/beta', undefined, { key: String(agent['key']) })).status).toBe(401);
    expect((await api.send('GET', '/tenants/acme', undefined, { key: String(brief['key']) })).status).toBe(200);
    api.clock.advance(1000);
    expect((await api.send('GET', '/tenants/acme', undefined, { key: String(brief['key']) })).status).toBe(401);
  });

  it('does not let a tenant admin make a key for the admin of another tenant', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    await api.tenant('beta');
    const reply = await api.send(
      'POST',
      '/tenants/acme/keys',
      { name: 'x', principal: 'a', scopes: ['tools', 'admin:beta'] },
      { key },
    );
    expect([reply.status, problemsOf(reply)]).toEqual([422, ['$.scopes[1]']]);
  });
});

describe('requests that are not well-formed', () => {
  it('are problem documents that never repeat what was sent', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    const canary = 'canary-77aa';
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    for (const [status, body, headers] of [
      [400, `{"name": "${canary}`, {}],
      [400, deep, {}],
      [400, undefined, {}],
      [413, JSON.stringify({ name: canary.repeat(200_000) }), {}],
      [415, `name=${canary}`, { 'content-type': 'application/x-www-form-urlencoded' }],
      [415, `{"name": "${canary}"}`, { 'content-type': 'text/plain' }],
      [415, '{}', { 'content-type': 'application/json; charset=klingon' }],
      [422, '[]', {}],
      [422, '"text"', {}],
      [422, '{"name": "a\\u0000b"}', {}],
      [422, '{"name": "\\ud800"}', {}],
      [422, '{"__proto__": {"admin": true}}', {}],
    ] as const) {
      const reply = await api.send('PATCH', '/tenants/acme', body, { headers });
      expect([reply.status, reply.type]).toEqual([status, 'application/problem+json; charset=utf-8']);
      expect(reply.text).not.toContain(canary);
    }
    expect(api.log).toEqual([]);
  });

  it.each([
    ['{"a": 1,}', 'The body is not JSON: look at character 9.'],
    ['{"a": [', 'The body is not JSON: it ends too early.'],
    ['{"a": hunter2}', 'The body is not JSON.'],
  ])('%s is told to be no JSON, and where, as far as the parser says it', async (body, detail) => {
    await using api = await openAdminApi();
    const reply = await api.send('POST', '/tenants', body);
    expect([reply.status, reply.json['detail']]).toEqual([400, detail]);
    const address = await api.send('GET', '/tenants/%E0%A4%A');
    expect(address.json['detail']).toBe('The address is not well-formed, or the body did not come whole.');
  });

  it('name every problem with its path, unknown members too', async () => {
    await using api = await openAdminApi();
    const reply = await api.send('POST', '/tenants', {
      id: 'acme',
      name: '',
      signIn: { mode: 'oidc', issuer: 'http://idp.example', extra: 1 },
      colour: 'red',
    });
    expect(reply.status).toBe(422);
    expect(problemsOf(reply).toSorted()).toEqual([
      '$.colour',
      '$.name',
      '$.signIn.clientId',
      '$.signIn.extra',
      '$.signIn.issuer',
    ]);
  });

  it('get 404 and 405 as documents, and a NUL in the address is no crash', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    expect((await api.send('GET', '/nothing')).json).toMatchObject({ status: 404 });
    const wrong = await api.send('DELETE', '/tenants');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect((await api.send('DELETE', '/tenants/acme/keys/a%00b')).status).toBe(400);
    expect((await api.send('GET', '/tenants/acme/servers/%E0%A4%A')).status).toBe(400);
    expect((await api.send('GET', '/tenants?limit=0')).status).toBe(400);
    expect((await api.send('GET', '/tenants?limit=501')).status).toBe(400);
  });

  it('our own faults are described to nobody', async () => {
    await using api = await openAdminApi();
    await api.tenant('acme');
    Object.assign(api.deps.tenants, { find: () => Promise.reject(new Error('password=canary-db')) });
    const reply = await api.send('GET', '/tenants/acme');
    expect([reply.status, reply.json['detail']]).toEqual([500, 'Something went wrong inside the proxy.']);
    expect(api.log).toHaveLength(1);
  });
});

describe('what is not there', () => {
  it('is named to whoever may see the tenant', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    await api.send('PUT', '/tenants/acme/servers/notes', {
      url: 'https://notes.example/mcp',
      credential: { kind: 'secret' },
    });
    for (const [method, path, detail] of [
      ['GET', '/tenants/acme/servers/none', 'There is no server "none" in this tenant.'],
      ['DELETE', '/tenants/acme/servers/none', 'There is no server "none" in this tenant.'],
      [
        'DELETE',
        '/tenants/acme/servers/notes/credentials/bob',
        'There is no credential of "bob" for the server "notes".',
      ],
      ['DELETE', '/tenants/acme/keys/none', 'There is no key with this id in this tenant.'],
      ['DELETE', '/tenants/acme/issuers?issuer=none', 'There is no such issuer in this tenant.'],
      ['DELETE', '/tenants/acme/connections/none', 'There is no such connection on this node.'],
      ['GET', '/tenant/acme', 'There is no such route; see /admin/v1/openapi.json.'],
    ] as const) {
      const reply = await api.send(method, path, undefined, { key });
      expect([reply.status, reply.json['detail']]).toEqual([404, detail]);
    }
    const byOperator = await api.send('GET', '/tenants/gamma');
    expect([byOperator.status, byOperator.json['detail']]).toEqual([404, 'There is no tenant "gamma".']);
    expect((await api.send('DELETE', '/tenants/gamma')).json['detail']).toBe('There is no tenant "gamma".');
    const byOther = await api.send('GET', '/tenants/gamma/servers/none', undefined, { key });
    expect(byOther.json['detail']).toBe('There is no such thing here.');
  });
});
