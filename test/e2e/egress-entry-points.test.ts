// Every way that leads out passes the guard when it is used, however its address came in and however good it
// looked then (B234, B236, B241): a name that has moved inside by the time it is dialled is not dialled.
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import type { DialTarget } from '../../src/upstream/egress/dial.ts';
import { createNetDial } from '../../src/upstream/egress/dial.ts';
import { LOOPBACK_ALLOWED } from '../support/a-door.ts';
import { useScene, without } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { confirm, linkFrom, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { aGrantedPerson } from './a-granted-person.ts';

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
});
