// Every way that leads out passes the guard when it is used, however its address came in and however good it
// looked then (B234, B236, B241): a name that has moved inside by the time it is dialled is not dialled.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import type { DialTarget } from '../../src/upstream/egress/dial.ts';
import { createNetDial } from '../../src/upstream/egress/dial.ts';
import { eventually } from '../store/eventually.ts';
import { LOOPBACK_ALLOWED } from '../support/a-door.ts';
import { connectRaw, type RawAgent } from '../support/agents/raw-agent.ts';
import { anOldSseServer } from '../support/old-sse-server.ts';
import { type TenantSide, useScene, withKeys, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { confirm, linkFrom, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { linkIn } from '../support/sign-in.ts';
import { aGrantedPerson } from './a-granted-person.ts';
import { startSmallIdp } from './a-small-idp.ts';

const HOST = 'flip.example.com';
const INSIDE = '10.20.30.40';

/** What the name resolves to now; loopback is where the operator lets tests go. */
let answer = '127.0.0.1';
const asked: string[] = [];
const dialled: DialTarget[] = [];
const dial = createNetDial(systemClock);
const scene = useScene({
  egress: LOOPBACK_ALLOWED,
  network: {
    resolve: async (host) => {
      asked.push(host);
      return [answer];
    },
    dial: (target) => {
      dialled.push(target);
      return dial(target);
    },
  },
});
beforeEach(() => {
  answer = '127.0.0.1';
  asked.length = 0;
  dialled.length = 0;
});

const byName = (url: string): string => {
  const moved = new URL(url);
  moved.hostname = HOST;
  return moved.href.replace(/\/$/, url.endsWith('/') ? '/' : '');
};

/** It was tried, and ended before a socket; nothing about the address reached whoever asked. */
function expectStopped(...told: readonly unknown[]): void {
  expect(asked).toContain(HOST);
  expect(dialled.map(({ address }) => address)).not.toContain(INSIDE);
  expect(scene.app.lines.some((line) => line.includes('an address was refused') && line.includes(INSIDE))).toBe(true);
  expect(JSON.stringify(told)).not.toContain(INSIDE);
}

describe('a name that has moved inside is not dialled', () => {
  it('by a call, nor by the list before it', async () => {
    const upstream = await scene.open('modern');
    const tenant = await scene.tenant();
    await tenant.put('notes', without({ url: byName(upstream.url) }));
    const agent = await tenant.agent('rawModern');
    expect(await agent.callTool('notes__whoami')).not.toMatchObject({ isError: true });
    answer = INSIDE;
    await tenant.put('notes', without({ url: byName(upstream.url) }, { title: 'Moved' }));
    // The sockets of before are gone with their server; it is the same name for everybody.
    await upstream.close();
    const list = await agent.listTools();
    const call = await agent.callTool('notes__whoami');
    expect(call).toMatchObject({
      structuredContent: { error: 'egress_denied', reason: 'private_address', server: 'notes' },
    });
    expectStopped(list, call, await tenant.status('notes'));
  });

  it('for the document of a server, nor for what an authorization server says of itself', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern');
    answer = INSIDE;
    Object.assign(mcp.settings, { authorizationServers: [byName(as.issuer)] });
    const agent = await tenant.raw('rawModern', 'ada');
    const page = await new Browser().open(await linkFrom(agent));
    expectStopped(page.text);
  });

  it.each([
    ['token_endpoint', '/token'],
    ['registration_endpoint', '/register'],
  ])('for the %s that a document names', async (member, path) => {
    const { as, tenant } = await signInWorld(scene, 'modern', {});
    as.settings.metadata = { [member]: `${byName(as.issuer)}${path}` };
    answer = INSIDE;
    const agent = await tenant.raw('rawModern', 'ada');
    const link = await linkFrom(agent);
    const page = await confirm(link).catch((error: unknown) => ({ text: String(error) }));
    expect(page.text).not.toContain('<title>Connected</title>');
    expectStopped(page.text);
  });

  it('for a renewal, nor for a revocation', async () => {
    const { as, mcp, tenant, agent, importTokens } = await aGrantedPerson(scene, 'modern', 'rawModern');
    const oauth = {
      clientId: 'by-hand',
      issuer: as.issuer,
      authorizationEndpoint: `${as.issuer}/authorize`,
      tokenEndpoint: `${byName(as.issuer)}/token`,
    };
    await tenant.put('notes', { url: mcp.url, credential: { owner: 'principal', kind: 'oauth', oauth } });
    await importTokens();
    expect(await agent.callTool('notes__whoami')).not.toMatchObject({ isError: true });
    answer = INSIDE;
    as.expireAll();
    const call = await agent.callTool('notes__whoami');
    expect(call).toMatchObject({ isError: true });
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/notes/credentials/ada`);
    expectStopped(call);
  });

  it('for the keys of an issuer', async () => {
    const keys = await scene.open('modern');
    const tenant = await scene.tenant();
    await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, {
      issuer: 'https://idp.example.com',
      jwksUri: byName(keys.url).replace('http:', 'https:'),
      audience: 'kb',
    });
    answer = INSIDE;
    const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const token = `${encode({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })}.${encode({ iss: 'https://idp.example.com', sub: 'ada', aud: 'kb', iat: 1, exp: 9e9 })}.${'A'.repeat(86)}`;
    const response = await fetch(`${scene.app.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expectStopped(await response.text());
  });

  it('by the call that is tried again after a 401', async () => {
    const as = await scene.keep(startScriptedAs());
    as.addClient({ clientId: 'by-hand' });
    const upstream = await scene.keep(
      startScripted({
        era: 'modern',
        // Whatever is asked has a socket of its own, so that none is left for the second try.
        onOther: (_message, _req, res) => {
          res.setHeader('connection', 'close');
          return false;
        },
        onCall: ({ nth, res, result }) => {
          res.setHeader('connection', 'close');
          if (nth === 1) return result('{"resultType":"complete","content":[]}');
          answer = INSIDE;
          res.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        },
      }),
    );
    const url = byName(upstream.url);
    const place = {
      issuer: as.issuer,
      authorizationEndpoint: `${as.issuer}/authorize`,
      tokenEndpoint: `${as.issuer}/token`,
    };
    const oauth = { clientId: 'by-hand', ...place, resource: url };
    const tenant = await scene.tenant({ notes: { url, credential: { owner: 'principal', kind: 'oauth', oauth } } });
    const path = `/tenants/${tenant.id}/servers/notes/credentials/ada`;
    await scene.app.adminOk('PUT', path, { oauth: as.issue({ subject: 'ada', resource: url }) });
    const agent = await tenant.raw('rawModern');
    expect(await agent.callTool('notes__act')).not.toMatchObject({ isError: true });
    const call = await agent.callTool('notes__act');
    expect(call).toMatchObject({ structuredContent: { error: 'egress_denied', reason: 'private_address' } });
    expect(as.seen.token.map(({ params }) => params['grant_type'])).toEqual(['refresh_token']);
    expect(upstream.calls).toBe(2);
    expectStopped(call);
  });

  it.each([
    ['what it says of itself', 'issuer', ''],
    ['its token endpoint', 'token_endpoint', '/token'],
    ['its keys', 'jwks_uri', '/jwks'],
  ])('for an identity provider that proves people: %s', async (_what, member, path) => {
    const idp = await scene.keep(startSmallIdp('us'));
    const moved = `${byName(idp.issuer)}${path}`.replace('http:', member === 'issuer' ? 'https:' : 'http:');
    idp.metadata = { [member]: moved };
    const upstream = await scene.keyed('modern');
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const issuer = member === 'issuer' ? moved : idp.issuer;
    const signIn = { mode: 'oidc', issuer, clientId: 'us', clientSecret: 'hush-hush-hush' };
    await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn });
    const link = linkIn(await (await tenant.raw('rawModern')).callTool('notes__connect'));
    answer = INSIDE;
    const page = await new Browser().open(link);
    expect(page.text).not.toContain('You are signed in');
    // Whatever comes before was asked, so that this address was the one that was wanted next.
    const way = ['/.well-known/openid-configuration', '/authorize', '/token', '/jwks'];
    expect(idp.asked).toEqual(member === 'issuer' ? [] : way.slice(0, way.indexOf(path)));
    expectStopped(page.text);
  });

  it.each(['stream', 'posts'])('by a server of the old transport: its %s', async (what) => {
    let drop = (): void => undefined;
    const upstream = await scene.keep(
      anOldSseServer({
        // What is posted has a socket of its own each time.
        onPost: (_message, res) => {
          res.setHeader('connection', 'close');
          return false;
        },
        onMessage: ({ id, method }, session) => {
          drop = () => session.drop();
          const list = { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] };
          const result = method === 'tools/list' ? list : { content: [] };
          if (id !== undefined) session.event(JSON.stringify({ jsonrpc: '2.0', id, result }));
        },
      }),
    );
    const tenant = await scene.tenant({ old: without({ url: byName(upstream.url) }, { type: 'sse' }) });
    const agent = await tenant.raw('rawModern');
    expect(await agent.callTool('old__hello')).not.toMatchObject({ isError: true });
    answer = INSIDE;
    const before = upstream.requests.length;
    if (what === 'stream') drop();
    await eventually(
      'the stream to be as the test wants it',
      () => upstream.openStreams() === (what === 'stream' ? 0 : 1),
    );
    const call = await agent.callTool('old__hello');
    expect(call).toMatchObject({ structuredContent: { error: 'egress_denied', reason: 'private_address' } });
    expect(upstream.requests).toHaveLength(before);
    expectStopped(call);
  });

  it.each(['client_credentials', 'token_exchange'])('for a token by %s', async (kind) => {
    const as = await scene.keep(startScriptedAs());
    as.addClient({ clientId: 'us', secret: 'our secret' });
    as.settings.metadata = { token_endpoint: `${byName(as.issuer)}/token` };
    // Each request for a token has a socket of its own.
    as.always('token', async (_request, work) => {
      const done = await work();
      return { ...done, headers: { ...done.headers, connection: 'close' } };
    });
    const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
    const oauth = { clientId: 'us', clientSecret: 'our secret' };
    const tenant = await scene.tenant({ notes: { url: mcp.url, credential: { kind, oauth } } });
    const agentOf = await signedAgents(tenant);
    expect(await (await agentOf('ada')).callTool('notes__whoami')).not.toMatchObject({ isError: true });
    answer = INSIDE;
    as.expireAll();
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    const call = await (await agentOf('bob')).callTool('notes__whoami');
    expect(call).toMatchObject({ isError: true });
    expect(as.seen.token).toHaveLength(1);
    expectStopped(call, await tenant.status('notes'));
  });
});

/** Agents that come with a token of the tenant's issuer, whose keys the tenant has by hand. */
async function signedAgents(tenant: TenantSide): Promise<(subject: string) => Promise<RawAgent>> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const issuer = `https://idp.${tenant.id}.example`;
  const audience = `${scene.app.url}/mcp`;
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] };
  await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, { issuer, jwks, audience });
  return async (subject) => {
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
    return scene.keep(connectRaw('rawModern', audience, { authorization: `Bearer ${token}` }));
  };
}
