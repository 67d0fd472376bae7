// People whom the tenant's identity provider proves (mode `oidc`): the real provider, over its real pages.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { Browser, type Page } from '../support/sign-in/browser-jar.ts';
import { startOidcAs } from '../support/sign-in/oidc-as.ts';
import { linkIn } from '../support/sign-in.ts';

const scene = useScene();

async function oidcTenant(): Promise<TenantSide> {
  const upstream = await scene.keyed('modern');
  const idp = await scene.keep(startOidcAs());
  const tenant = await scene.tenant({ notes: withKeys(upstream) });
  const redirectUri = `${scene.app.url}/connect/callback/${tenant.id}`;
  await idp.addClient({ client_id: 'keybearer', client_secret: 'hush-hush-hush', redirect_uris: [redirectUri] });
  const signIn = { mode: 'oidc', issuer: idp.issuer, clientId: 'keybearer', clientSecret: 'hush-hush-hush' };
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn });
  return tenant;
}

const linkOf = async (tenant: TenantSide, who: string): Promise<string> =>
  linkIn(await (await tenant.raw('rawModern', who)).callTool('notes__connect'));

/** Signs in on the provider's pages, however many it shows. */
async function signInAs(browser: Browser, name: string): Promise<Page> {
  for (let steps = 0; steps < 6 && !browser.page.url.startsWith(scene.app.url); steps++) {
    const asksWhether = browser.page.forms[0]?.buttons.some(([, value]) => value === 'yes') === true;
    await browser.submit({ name }, asksWhether ? { button: 'yes' } : {});
  }
  return browser.page;
}

describe('people whom an identity provider proves', () => {
  it('go there by the link, come back to its page, and store their key', async () => {
    const tenant = await oidcTenant();
    const browser = new Browser();
    const link = await linkOf(tenant, 'ada');
    await browser.open(link);
    const page = await signInAs(browser, 'ada');
    expect([page.url, page.status]).toEqual([link, 200]);
    expect(page.text).toContain('You are signed in as <bdi>ada</bdi>');
    expect((await browser.submit({ secret: 'key-ada' })).text).toContain('Go back to your agent.');
    expect(textOf(await (await tenant.raw('rawModern', 'ada')).callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('B160: the link of another person shows them that, stores nothing, and has the provider ask again', async () => {
    const tenant = await oidcTenant();
    const browser = new Browser();
    const link = await linkOf(tenant, 'ada');
    await browser.open(link);
    const wrong = await signInAs(browser, 'bob');
    expect([wrong.status, wrong.text.includes('This link belongs to another account')]).toEqual([403, true]);
    await browser.follow(`${link}?as=another`);
    expect(browser.page.text, 'the provider asks again').toContain('name="name"');
    expect((await new Browser().open(link)).text, 'the link is still good').toContain('name="name"');
    expect(await scene.app.sql('SELECT 1 FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
  });

  it('T1: the answer of the provider is of no use in another browser', async () => {
    const tenant = await oidcTenant();
    const [ada, bob] = [new Browser(), new Browser()];
    await ada.open(await linkOf(tenant, 'ada'));
    const callback = (await signInAs(ada, 'ada')).hops.find(({ url }) => url.includes('/connect/callback/'))?.url ?? '';
    expect(callback).toContain('code=');
    expect((await bob.open(callback)).status).toBe(400);
    expect((await ada.open(callback)).status, 'goes on, without asking the provider again').toBe(200);
  });

  it('reach their own pages without a link', async () => {
    const tenant = await oidcTenant();
    const browser = new Browser();
    await browser.open(`${scene.app.url}/connect?tenant=${tenant.id}`);
    const page = await signInAs(browser, 'ada');
    expect([page.url, page.status]).toEqual([`${scene.app.url}/connect`, 200]);
    expect((await browser.submit()).text).toContain('Your key goes to');
  });
});
