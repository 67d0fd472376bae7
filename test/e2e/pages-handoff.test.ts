// People whom the product proves (mode `handoff`), over a real database and with two nodes.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkIn } from '../support/sign-in.ts';
import { at, confirmFlow, departure } from './pages-walk.ts';

const KEY = 'key-of-the-product';
const scene = useScene({ http: { publicUrl: undefined } });

async function handoffTenant(): Promise<TenantSide> {
  const upstream = await scene.keyed('legacy');
  const tenant = await scene.tenant({ notes: withKeys(upstream) });
  const signIn = { mode: 'handoff', verifyUrl: 'http://127.0.0.1:9/verify', key: KEY };
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn });
  return tenant;
}

const linkOf = async (tenant: TenantSide, who: string): Promise<string> =>
  linkIn(await (await tenant.raw('rawLegacy', who)).callTool('notes__connect'));

describe('people whom the product proves', () => {
  it('B157: depart on one node, are confirmed on another, and come back to the first; the key stored is sealed', async () => {
    const tenant = await handoffTenant();
    const node = await scene.node();
    const [row] = await scene.app.sql('SELECT sign_in FROM tenants WHERE id = $1', [tenant.id]);
    expect(JSON.stringify(row)).not.toContain(KEY);
    const browser = new Browser();
    const verifyUrl = await departure(browser, await linkOf(tenant, 'ada'));
    const { status, url } = await confirmFlow(node, verifyUrl, 'ada', KEY);
    expect(status).toBe(200);
    const page = await browser.open(at(scene.app, url));
    expect(page.text).toContain('You are signed in as <bdi>ada</bdi>');
    expect((await browser.submit({ secret: 'key-ada' })).text).toContain('Go back to your agent.');
    expect(textOf(await (await tenant.raw('rawLegacy', 'ada')).callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('takes a key that somebody wrote into the table, and no other', async () => {
    const tenant = await handoffTenant();
    await scene.app.sql(`UPDATE tenants SET sign_in = jsonb_set(sign_in, '{key}', '"by-hand"') WHERE id = $1`, [
      tenant.id,
    ]);
    const verifyUrl = await departure(new Browser(), await linkOf(tenant, 'ada'));
    expect((await confirmFlow(scene.app, verifyUrl, 'ada', KEY)).status).toBe(404);
    expect((await confirmFlow(scene.app, verifyUrl, 'ada', 'by-hand')).status).toBe(200);
  });

  it('T1: what brings Ada back is of no use to Bob, and her link is used up by the third stranger, on any node', async () => {
    const tenant = await handoffTenant();
    const node = await scene.node();
    const link = await linkOf(tenant, 'ada');
    const [ada, bob] = [new Browser(), new Browser()];
    const back = await confirmFlow(scene.app, await departure(ada, link), 'ada', KEY);
    await departure(bob, link);
    expect((await bob.open(back.url)).status).toBe(400);
    expect(await scene.app.sql('SELECT 1 FROM browser_sessions WHERE tenant_id = $1', [tenant.id])).toEqual([]);
    const asBob = await confirmFlow(node, await departure(bob, at(node, link)), 'bob', KEY);
    for (const [times, where] of [scene.app, node, scene.app].entries()) {
      const page = times === 0 ? await bob.open(at(where, asBob.url)) : await bob.open(at(where, link));
      expect(page.text).toContain('This link belongs to another account');
    }
    expect((await ada.open(back.url)).status, 'Ada too needs a new link').toBe(410);
    expect(await scene.app.sql('SELECT 1 FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
  });
});
