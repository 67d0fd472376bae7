// Sign-ins of an installation behind a front: two nodes that share one public address with a path.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { TestApp } from '../support/app.ts';
import { Scene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { confirm, linkFrom, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { type PrefixedFront, startPrefixedFront } from './oauth-cases-front.ts';

let front: PrefixedFront;
let scene: Scene;
let other: TestApp;
beforeAll(async () => {
  front = await startPrefixedFront();
  scene = new Scene({ http: { publicUrl: front.publicUrl, allowedHosts: ['127.0.0.1', 'localhost'] } });
  await scene.begin();
});
beforeEach(async () => {
  other = await scene.node();
  front.toward(scene.app, other);
  return () => scene.clear();
});
afterAll(async () => {
  await scene.end();
  await front.close();
});

const CALLBACK = /^http:\/\/127\.0\.0\.1:\d+\/mcp-proxy\/oauth\/callback\/[\w-]{22}$/;

describe('a sign-in through the front', () => {
  it('has one redirect URI, below the public address, in all three places (B152, B154, B157)', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    const link = await linkFrom(ada);
    expect(link.startsWith(`${front.publicUrl}connect/`)).toBe(true);
    const page = await confirm(link, new Browser());
    expect(page.text).toContain('<title>Connected</title>');
    expect(page.url.startsWith(`${front.publicUrl}connect/done/`)).toBe(true);
    const [uri] = as.seen.register[0]?.json['redirect_uris'] as readonly string[];
    expect(uri).toMatch(CALLBACK);
    expect(as.seen.authorize.map(({ params }) => params['redirect_uri'])).toEqual([uri]);
    expect(as.seen.token.map(({ params }) => params['redirect_uri'])).toEqual([uri]);
    expect(front.paths.some((path) => path.startsWith('/oauth/callback/'))).toBe(true);
    expect(front.paths.filter((path) => path.includes('//'))).toEqual([]);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('registers anew, before anybody is sent away, when the public address was another one (B154)', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    await confirm(await linkFrom(await tenant.raw('rawModern', 'ada')), new Browser());
    await scene.app.sql('UPDATE oauth_clients SET redirect_uri = $1', ['https://old.example/oauth/callback/x']);
    await confirm(await linkFrom(await tenant.raw('rawModern', 'bob')), new Browser());
    expect(as.seen.register).toHaveLength(2);
    const [, second] = as.seen.authorize.map(({ params }) => params);
    expect(second?.['redirect_uri']).toMatch(CALLBACK);
    expect(as.clients.get(second?.['client_id'] ?? '')?.redirectUris).toEqual([second?.['redirect_uri']]);
  });

  it('may cross those of the same and of other people, and each gets their own (B155, B157)', async () => {
    const { as, tenant } = await signInWorld(scene, 'legacy', { as: { authorize: { kind: 'page' } } });
    const [ada, bob] = [await tenant.raw('rawLegacy', 'ada'), await tenant.raw('rawLegacy', 'bob')];
    // Two tabs of one browser, and another person's.
    const [one, two, bobs] = [new Browser(), new Browser(), new Browser()];
    Object.assign(two, { cookies: one.cookies });
    const adas = await linkFrom(ada);
    await confirm(adas, one);
    await confirm(await linkFrom(bob), bobs);
    await confirm(adas, two);
    const agree = (browser: Browser, name: string) => browser.submit({ name }, { button: 'yes' });
    for (const [browser, name] of [
      [two, 'ada-later'],
      [bobs, 'bob'],
      [one, 'ada-first'],
    ] as const)
      expect((await agree(browser, name)).text, name).toContain('<title>Connected</title>');
    expect(textOf(await ada.callTool('notes__whoami')), 'the later result wins').toMatch(/^who=ada-first;/);
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    expect(as.revocations).toBe(0);
  });
});

describe('a link that says by itself who somebody is', () => {
  it('is used up by the first browser that comes back: the second keeps nothing (T4)', async () => {
    const { as, tenant } = await signInWorld(scene, 'legacy', { as: { authorize: { kind: 'page' } } });
    const ada = await tenant.raw('rawLegacy', 'ada');
    const link = await linkFrom(ada);
    const [first, second] = [new Browser(), new Browser()];
    for (const browser of [first, second]) await confirm(link, browser);
    const end = await first.submit({ name: 'ada' }, { button: 'yes' });
    expect(end.text).toContain('<title>Connected</title>');
    const late = await second.submit({ name: 'mallory' }, { button: 'yes' });
    expect(late.status).toBe(410);
    expect(late.text).toContain('Nothing was kept');
    expect(as.seen.token).toHaveLength(1);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });
});

describe('a registration that needs a token', () => {
  it('is made once for two people on two nodes, and the token is shown to nobody (B151)', async () => {
    const token = 'let-me-in-5f1c';
    const { as, mcp, tenant } = await signInWorld(scene, 'modern', {
      as: { register: { kind: 'token', initialAccessToken: token } },
      oauth: { initialAccessToken: token },
    });
    const links = await Promise.all(['ada', 'bob'].map(async (name) => linkFrom(await tenant.raw('rawModern', name))));
    const ends = await Promise.all(links.map((link) => confirm(link, new Browser())));
    for (const { text } of ends) expect(text).toContain('<title>Connected</title>');
    expect(as.seen.register.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${token}`]);
    const elsewhere = [as.seen.metadata, as.seen.authorize, as.seen.token, mcp.seen];
    expect(JSON.stringify(elsewhere)).not.toContain(token);
    const shown = [
      await tenant.status('notes'),
      await scene.app.sql('SELECT * FROM servers'),
      scene.app.lines,
      other.lines,
    ];
    expect(JSON.stringify(shown)).not.toContain(token);
  });
});

describe('a session', () => {
  it('of another node is unknown, so that the agent greets again, and is nobody else’s (B157)', async () => {
    const { tenant } = await signInWorld(scene, 'modern');
    const here = await tenant.raw('rawLegacy', 'ada');
    const there = await scene.side(tenant.id, tenant.key, other).raw('rawLegacy', 'ada');
    const { body } = there.compose('tools/list');
    expect((await there.post(body, { 'mcp-session-id': here.session })).status).toBe(404);
    expect((await there.post(body, { 'mcp-session-id': there.session })).status).toBe(200);
  });
});
