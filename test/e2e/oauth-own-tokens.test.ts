// Tokens that no person signs in for: as the tenant's client, or in exchange for the caller's own token.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { connectRaw } from '../support/agents/raw-agent.ts';
import { ERAS, useScene } from '../support/scene.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { refuses, startScriptedAs } from '../support/sign-in/scripted-as.ts';

const scene = useScene();

describe.each(ERAS)('client_credentials at a %s server', (era) => {
  const aWorld = async () => {
    const as = await scene.keep(startScriptedAs());
    as.addClient({ clientId: 'us', secret: 'our secret' });
    const mcp = await scene.keep(startGuardedMcp({ era, tokens: as }));
    const tenant = await scene.tenant({
      notes: {
        url: mcp.url,
        credential: {
          kind: 'client_credentials',
          oauth: { clientId: 'us', clientSecret: 'our secret', scopes: ['read'] },
        },
      },
    });
    return { as, mcp, tenant };
  };

  it('are asked for once for the whole tenant, also before anybody calls, and everybody has its tools', async () => {
    const { as, tenant } = await aWorld();
    const [ada, bob] = [await tenant.raw('rawLegacy', 'ada'), await tenant.raw('rawModern', 'bob')];
    for (const agent of [ada, bob]) {
      expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('notes__whoami');
      expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=us;/);
    }
    expect(as.seen.token.map(({ params }) => params['grant_type'])).toEqual(['client_credentials']);
    expect(as.seen.token[0]?.params).toMatchObject({ scope: 'read', resource: expect.stringMatching(/\/mcp$/) });
  });

  it('are asked for again when they are refused, once, and lost by nothing', async () => {
    const { as, tenant } = await aWorld();
    const ada = await tenant.raw('rawLegacy', 'ada');
    await ada.listTools();
    await ada.callTool('notes__whoami');
    as.expireAll();
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=us;/);
    expect(as.seen.token).toHaveLength(2);
    as.expireAll();
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    as.always('token', refuses('temporarily_unavailable', 503));
    expect(await ada.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'upstream_unavailable' } });
    as.always('token', undefined);
    await scene.app.sql('UPDATE renewals SET retry_at = NULL');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=us;/);
  });

  it('with a secret that is not taken say what an admin has to check, and go on with the right one', async () => {
    const { as, mcp, tenant } = await aWorld();
    const credential = (clientSecret: string) => ({
      url: mcp.url,
      credential: { kind: 'client_credentials', oauth: { clientId: 'us', clientSecret } },
    });
    await tenant.put('wrong', credential('another'));
    const ada = await tenant.raw('rawLegacy', 'ada');
    await ada.listTools();
    expect(JSON.stringify(await tenant.status('wrong'))).toContain('clientSecret');
    await tenant.put('wrong', credential('our secret'));
    await eventually('the right secret to be used', async () =>
      (await ada.listTools()).tools.some(({ name }) => name === 'wrong__whoami'),
    );
    expect(as.revocations).toBe(0);
  });
});

describe.each(ERAS)('token_exchange at a %s server', (era) => {
  const aWorld = async () => {
    const as = await scene.keep(startScriptedAs());
    as.addClient({ clientId: 'us', secret: 'our secret' });
    const mcp = await scene.keep(startGuardedMcp({ era, tokens: as }));
    const tenant = await scene.tenant({
      notes: {
        url: mcp.url,
        credential: { kind: 'token_exchange', oauth: { clientId: 'us', clientSecret: 'our secret' } },
      },
    });
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const issuer = `https://idp.${tenant.id}.example`;
    await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, {
      issuer,
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] },
      audience: `${scene.app.url}/mcp`,
    });
    const tokenFor = (subject: string) =>
      new SignJWT({})
        .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(`${scene.app.url}/mcp`)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
    const agentOf = async (subject: string) => {
      const token = await tokenFor(subject);
      const agent = await scene.keep(
        connectRaw('rawLegacy', `${scene.app.url}/mcp`, { authorization: `Bearer ${token}` }),
      );
      return { agent, token };
    };
    return { as, mcp, tenant, agentOf };
  };

  it('gives each person a token for their own, which goes to the sign-in server and nowhere else (T6)', async () => {
    const { as, mcp, agentOf } = await aWorld();
    const [ada, bob] = [await agentOf('ada'), await agentOf('bob')];
    for (const { agent } of [ada, bob]) {
      await agent.listTools();
      await agent.callTool('notes__whoami');
    }
    const exchanges = as.seen.token.map(({ params }) => params);
    expect(exchanges.map((params) => params['subject_token'])).toEqual([ada.token, bob.token]);
    expect(exchanges[0]).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
    expect(mcp.seen.flatMap(({ token }) => token ?? [])).not.toContain(ada.token);
    expect(mcp.seen.flatMap(({ token }) => token ?? [])).not.toContain(bob.token);
  });

  it('tells an agent that comes with a key that a signed token is needed', async () => {
    const { tenant, as, agentOf } = await aWorld();
    await (await agentOf('ada')).agent.listTools();
    const keyed = await tenant.raw('rawLegacy', 'ada');
    const result = await keyed.callTool('notes__whoami');
    expect(result).toMatchObject({ isError: true, structuredContent: { error: 'upstream_unavailable' } });
    expect(textOf(result)).toContain('signed token');
    expect(as.seen.token).toHaveLength(1);
  });
});
