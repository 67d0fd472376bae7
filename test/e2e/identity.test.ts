// Who is asking: keys and signed tokens of the tenant, and the challenge for everybody else.
import http from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { connectRaw } from '../support/agents/raw-agent.ts';
import { RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import { within } from '../support/within.ts';

const scene = useScene();

const post = async (path: string, headers: Record<string, string>) => {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {} },
  };
  const response = await fetch(`${scene.app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
  return { status: response.status, challenge: response.headers.get('www-authenticate'), body: await response.text() };
};

describe('without a good credential', () => {
  it.each(['/mcp', '/mcp/s', '/t/acme/mcp', '/t/acme/mcp/s'])(
    '%s answers 401 with the way to its metadata',
    async (path) => {
      const metadata = `${scene.app.url}/.well-known/oauth-protected-resource${path}`;
      expect(await post(path, {})).toMatchObject({ status: 401, challenge: `Bearer resource_metadata="${metadata}"` });
      for (const token of ['kb_nonsense', 'eyJhbGciOiJub25lIn0.e30.', 'x', `kb_${'a'.repeat(5_000)}`]) {
        expect(await post(path, { authorization: `Bearer ${token}` })).toMatchObject({
          status: 401,
          challenge: `Bearer error="invalid_token", resource_metadata="${metadata}"`,
        });
      }
      const response = await fetch(metadata);
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { resource: `${scene.app.url}${path}`, bearer_methods_supported: ['header'] },
      ]);
    },
  );

  it('an expired, removed or foreign key looks like one that never was', async () => {
    const tenant = await scene.tenant();
    const other = await scene.tenant();
    const expiring = await scene.app.agentKey(tenant.id, {
      principal: 'ada',
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
    });
    expect((await post('/mcp', { authorization: `Bearer ${expiring}` })).status).toBe(200);
    await scene.app.sql('UPDATE agent_keys SET expires_at = $2 WHERE tenant_id = $1 AND principal = $3', [
      tenant.id,
      new Date(Date.now() - 1_000),
      'ada',
    ]);
    const unknown = await post('/mcp', { authorization: 'Bearer kb_unknown' });
    await expect
      .poll(async () => (await post('/mcp', { authorization: `Bearer ${expiring}` })).status, { timeout: 1_500 })
      .toBe(401);
    const answers = [
      await post('/mcp', { authorization: `Bearer ${expiring}` }),
      await post(`/t/${other.id}/mcp`, { authorization: `Bearer ${tenant.key}`, 'keybearer-principal': 'ada' }),
    ];
    for (const { status, body } of answers) expect([status, body]).toEqual([unknown.status, unknown.body]);
  });

  it('one Authorization header counts: of two, whichever comes first, neither is looked at', async () => {
    const tenant = await scene.tenant();
    const good = `Bearer ${await scene.app.agentKey(tenant.id, { principal: 'ada' })}`;
    const admin = `Bearer ${scene.app.adminKey}`;
    const status = (path: string, authorization: string | readonly string[]) =>
      within(
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { authorization, 'content-type': 'application/json', accept: 'text/event-stream' };
          http
            .get(`${scene.app.url}${path}`, { headers: headers as http.OutgoingHttpHeaders }, (response) => {
              response.resume();
              resolve(response.statusCode);
            })
            .on('error', reject);
        }),
        'a status',
      );
    // Known, and then asked for a session.
    expect(await status('/mcp', good)).toBe(400);
    expect(await status('/admin/v1/tenants', admin)).toBe(200);
    for (const other of ['Bearer kb_unknown', 'Basic x', ''])
      for (const two of [
        [good, other],
        [other, good],
      ])
        expect(await status('/mcp', two), two.join()).toBe(401);
    expect(await status('/mcp', [good, good])).toBe(401);
    expect(await status('/admin/v1/tenants', [admin, admin])).toBe(401);
  });

  it('an admin key that has expired opens nothing any more', async () => {
    const tenant = await scene.tenant();
    const key = await scene.app.agentKey(tenant.id, {
      scopes: [`admin:${tenant.id}`],
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
    });
    const status = async () =>
      (await fetch(`${scene.app.url}/admin/v1/tenants/${tenant.id}`, { headers: { authorization: `Bearer ${key}` } }))
        .status;
    expect(await status()).toBe(200);
    await scene.app.sql('UPDATE agent_keys SET expires_at = $2 WHERE tenant_id = $1', [
      tenant.id,
      new Date(Date.now() - 1_000),
    ]);
    expect(await status()).toBe(401);
  });

  it('a key must be told for whom it acts, and may not act for others', async () => {
    const tenant = await scene.tenant();
    const one = { authorization: `Bearer ${await scene.app.agentKey(tenant.id, { principal: 'ada' })}` };
    const some = { authorization: `Bearer ${await scene.app.agentKey(tenant.id, { mayActFor: ['ada', 'bob'] })}` };
    expect((await post('/mcp', one)).status).toBe(200);
    expect((await post('/mcp', { ...one, 'keybearer-principal': 'ada' })).status).toBe(200);
    expect((await post('/mcp', { ...one, 'keybearer-principal': 'bob' })).status).toBe(403);
    expect(await post('/mcp', some)).toMatchObject({
      status: 400,
      body: expect.stringContaining('Keybearer-Principal'),
    });
    expect((await post('/mcp', { ...some, 'keybearer-principal': 'bob' })).status).toBe(200);
    expect((await post('/mcp', { ...some, 'keybearer-principal': 'carol' })).status).toBe(403);
    expect(
      (await post('/mcp', { authorization: `Bearer ${scene.app.adminKey}` })).status,
      "the operator's key is for the admin API",
    ).toBe(401);
  });
});

describe('a signed token', () => {
  const signer = async (issuer: string) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
    const sign = (claims: Record<string, unknown> = {}) => {
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: issuer, sub: 'ada', aud: `${scene.app.url}/mcp`, iat: now, exp: now + 300, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .sign(privateKey);
    };
    return { jwk, sign };
  };

  it.each(RAW_KINDS)(
    'makes %s the person it names, whose key is another than that of an agent key with the same name',
    async (kind) => {
      const upstream = await scene.keyed('legacy');
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      await tenant.setSecret('s', 'ada', 'key-ada');
      const issuer = `https://id.example/${tenant.id}`;
      const { jwk, sign } = await signer(issuer);
      await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, {
        issuer,
        jwks: { keys: [jwk] },
        audience: `${scene.app.url}/mcp`,
      });
      const token = await sign();
      const agent = await scene.keep(
        within(connectRaw(kind, `${scene.app.url}/mcp`, { authorization: `Bearer ${token}` }), 'the agent'),
      );
      expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('s__whoami');
      const asked = await agent.callTool('s__whoami');
      expect(asked).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
      await postKey(linkIn(asked), 'key-bob');
      expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=bob;/);
      expect(textOf(await (await tenant.raw(kind, 'ada')).callTool('s__whoami'))).toMatch(/^who=ada;/);
      const [, , signature = ''] = token.split('.');
      expect(JSON.stringify(upstream.seen), 'the token stays here').not.toContain(signature);
      expect(scene.app.lines.join('')).not.toContain(signature);
    },
  );

  it('that is expired, foreign, unsigned, for somebody else or of another tenant gets the one refusal', async () => {
    const tenant = await scene.tenant();
    const other = await scene.tenant();
    const issuer = `https://id.example/${tenant.id}`;
    const { jwk, sign } = await signer(issuer);
    const stranger = await signer(issuer);
    await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, {
      issuer,
      jwks: { keys: [jwk] },
      audience: `${scene.app.url}/mcp`,
    });
    const now = Math.floor(Date.now() / 1000);
    const ok = await sign();
    expect((await post('/mcp', { authorization: `Bearer ${ok}` })).status).toBe(200);
    const [head = '', , signature = ''] = ok.split('.');
    const forged = Buffer.from(
      JSON.stringify({ iss: issuer, sub: 'eve', aud: `${scene.app.url}/mcp`, exp: now + 300 }),
    ).toString('base64url');
    const bad = {
      expired: await sign({ exp: now - 3_600, iat: now - 7_200 }),
      'not yet valid': await sign({ nbf: now + 3_600 }),
      'for somebody else': await sign({ aud: 'https://other.example' }),
      'of a stranger': await stranger.sign(),
      'of an unknown issuer': await sign({ iss: 'https://unknown.example' }),
      'without subject': await sign({ sub: undefined }),
      'with another body': `${head}.${forged}.${signature}`,
      unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${forged}.`,
    };
    for (const [what, token] of Object.entries(bad))
      expect(await post('/mcp', { authorization: `Bearer ${token}` }), what).toMatchObject({
        status: 401,
        challenge: expect.stringContaining('invalid_token'),
      });
    expect((await post(`/t/${other.id}/mcp`, { authorization: `Bearer ${ok}` })).status).toBe(401);
    expect((await post(`/t/${tenant.id}/mcp`, { authorization: `Bearer ${ok}` })).status).toBe(200);
    const metadata = await (
      await fetch(`${scene.app.url}/.well-known/oauth-protected-resource/t/${tenant.id}/mcp`)
    ).json();
    expect(metadata).toMatchObject({ authorization_servers: [issuer] });
  });
});

describe.each(RAW_KINDS)('the endpoint of one server, for %s', (kind) => {
  it('keeps its own names, and the endpoint of a tenant is that of its token', async () => {
    const upstream = await scene.open('legacy');
    const keyed = await scene.keyed('modern');
    const tenant = await scene.tenant({ s: without(upstream), k: withKeys(keyed) });
    const own = await tenant.raw(kind, 'ada', '/mcp/s');
    expect((await own.listTools()).tools.map(({ name }) => name)).toContain('whoami');
    expect(textOf(await own.callTool('whoami'))).toMatch(/^who=/);
    await expect(own.callTool('s__whoami')).rejects.toMatchObject({ code: -32602 });
    const whole = await tenant.raw(kind, 'ada', `/t/${tenant.id}/mcp`);
    expect((await whole.listTools()).tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['s__whoami', 'k__connect']),
    );
    const one = await tenant.raw(kind, 'ada', `/t/${tenant.id}/mcp/k`);
    expect((await one.listTools()).tools.map(({ name }) => name)).toEqual(['k__connect']);
    const nothing = await tenant.raw(kind, 'ada', '/mcp/nothing');
    await expect(nothing.listTools()).rejects.toMatchObject({ code: -32602 });
  });
});
