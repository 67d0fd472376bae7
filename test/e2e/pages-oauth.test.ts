// A sign-in at an authorization server through the pages, over a real database and with two nodes.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkFrom, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { agree, answerOf, at } from './pages-walk.ts';

const scene = useScene();
const tokenRequests = (as: { readonly seen: { readonly token: readonly unknown[] } }): number => as.seen.token.length;

describe('the pages of a sign-in elsewhere', () => {
  it('lead from the link to the tools, and say what was connected', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    const browser = new Browser();
    const link = await linkFrom(ada);
    const page = await browser.open(link);
    for (const words of [new URL(mcp.url).host, new URL(as.issuer).host, 'ada', tenant.id])
      expect(page.text).toContain(words);
    const end = await browser.open(await answerOf(await agree(browser)));
    expect(end.url).toMatch(/\/connect\/done\/[\w-]+$/);
    expect(end.text).toContain('Go back to your agent.');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect((await browser.open(link)).status, 'used up').toBe(410);
    expect((await browser.open(`${scene.app.url}/connections`)).text).toContain(new URL(mcp.url).host);
    expect((await browser.open(`${scene.app.url}/connect`)).text).toContain('Nothing is left to connect');
  });

  it('B213, B216: a disconnected server is used no more, is told to forget, and can be connected anew from our page', async () => {
    const { as, tenant } = await signInWorld(scene, 'legacy');
    const ada = await tenant.raw('rawLegacy', 'ada');
    const browser = new Browser();
    await browser.open(await linkFrom(ada));
    await browser.open(await answerOf(await agree(browser)));
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    await browser.open(`${scene.app.url}/connections`);
    expect((await browser.submit()).text).toContain('No server is connected');
    expect(await ada.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    as.settings.nextSubject = 'ada-again';
    await browser.open(`${scene.app.url}/connect`);
    expect((await browser.submit()).text).toContain('Go on to');
    await browser.open(await answerOf(await agree(browser)));
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada-again;/);
  });

  it('B213: a grant that is over is shown as ended and is offered anew, and nobody is asked for that', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    const browser = new Browser();
    await browser.open(await linkFrom(ada));
    await browser.open(await answerOf(await agree(browser)));
    const before = tokenRequests(as);
    await scene.app.sql(
      `UPDATE credentials SET details = details || '{"expiresAt":"2001-02-03T04:05:06.000Z","signedInAt":"2000-01-02T03:04:05.000Z"}'
       WHERE tenant_id = $1`,
      [tenant.id],
    );
    expect((await browser.open(`${scene.app.url}/connect`)).text, 'it can be renewed').toContain('Nothing is left');
    expect((await browser.open(`${scene.app.url}/connections`)).text).toContain('2000-01-02T03:04:05.000Z');
    await scene.app.sql(
      `INSERT INTO renewals (tenant_id, server_id, owner, until, version, spent)
       SELECT tenant_id, server_id, owner, now(), version, true FROM credentials WHERE tenant_id = $1`,
      [tenant.id],
    );
    expect((await browser.open(`${scene.app.url}/connections`)).text).toContain('has ended');
    expect((await browser.open(`${scene.app.url}/connect`)).text).toContain('has ended');
    expect((await browser.submit()).text).toContain('Go on to');
    expect(tokenRequests(as)).toBe(before);
  });

  it('B157: begun on one node, finished on another', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const node = await scene.node();
    const ada = await tenant.raw('rawModern', 'ada');
    const browser = new Browser();
    await browser.open(await linkFrom(ada));
    const end = await browser.open(at(node, await answerOf(await agree(browser))));
    expect(end.text).toContain('Go back to your agent.');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(tokenRequests(as)).toBe(1);
  });

  it('B161: the same callback on two nodes at once, and later, makes one token request', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const node = await scene.node();
    const ada = await tenant.raw('rawModern', 'ada');
    const browser = new Browser();
    await browser.open(await linkFrom(ada));
    const callback = await answerOf(await agree(browser));
    await Promise.all([browser.open(callback), browser.open(at(node, callback)), browser.open(callback)]);
    expect((await browser.open(callback)).text).toContain('Go back to your agent.');
    expect((await browser.open(at(node, callback))).text).toContain('Go back to your agent.');
    expect(tokenRequests(as)).toBe(1);
    expect(as.revocations).toBe(0);
  });

  it('B160, B158: somebody else’s browser ends nothing and keeps nothing; the real one goes on', async () => {
    const { as, tenant } = await signInWorld(scene, 'legacy');
    const [ada, bob] = [await tenant.raw('rawLegacy', 'ada'), await tenant.raw('rawLegacy', 'bob')];
    const [adas, bobs] = [new Browser(), new Browser()];
    await adas.open(await linkFrom(ada));
    const callback = await answerOf(await agree(adas));
    await bobs.open(await linkFrom(bob));
    await agree(bobs);
    for (const forged of [callback, callback.replace(/state=./, 'state=_'), callback.replace(/state=[^&]+/, '')])
      expect((await bobs.open(forged)).status).toBe(400);
    expect(tokenRequests(as)).toBe(0);
    expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
    expect((await adas.open(callback)).text).toContain('Go back to your agent.');
    expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([
      { owner: 'p:ada' },
    ]);
  });
});
