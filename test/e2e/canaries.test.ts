// T23: every secret that a sign-in and a call bring about is looked for, in five ways of writing, in the log, in all
// rows, and in what agents and admins were answered.
//
// Where one may be seen, each by nobody else: the link in the answer to its own agent; `state` in the address that its
// person's browser is sent to; the code in that browser's way back; cookie and `csrf` in that browser; the agent key in
// the one answer to whoever made it.
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { ERAS, useScene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkFrom, signInWorld, withOauth } from '../support/sign-in/sign-in-scene.ts';
import { foundIn } from '../support/written-forms.ts';
import { foundInRows } from './canary-places.ts';
import { agree, answerOf } from './pages-walk.ts';

/** Like a real one, and known to the test. */
const MASTER_KEY = randomBytes(32).toString('base64');
const scene = useScene({ masterKeys: createStaticKeyProvider([MASTER_KEY]) });

it.each(ERAS)('no secret of a sign-in at a %s server is where it does not belong', async (era) => {
  const clientSecret = 'client-secret-canary-61f0';
  const header = 'static-header-canary-93ac';
  const { as, mcp, tenant } = await signInWorld(scene, era);
  await tenant.put('notes', withOauth(mcp, { clientId: 'by-hand', clientSecret }, { headers: { 'x-team': header } }));
  const agent = await tenant.raw('rawLegacy', 'ada');
  const link = await linkFrom(agent);
  const browser = new Browser();
  await browser.open(link);
  const authorizationUrl = await agree(browser);
  const redirectUri = new URL(authorizationUrl).searchParams.get('redirect_uri') ?? '';
  as.addClient({ clientId: 'by-hand', secret: clientSecret, redirectUris: [redirectUri] });
  const callback = await answerOf(authorizationUrl);
  const pages = [await browser.open(callback), await browser.open(callback), await browser.open(link)];
  pages.push(await browser.open(`${scene.app.url}/connections`));

  const texts = [JSON.stringify(await agent.listTools()), JSON.stringify(await agent.callTool('notes__whoami'))];
  const params = as.seen.token[0]?.params ?? {};
  const access = mcp.seen.map(({ token }) => token).findLast((token) => token !== undefined);
  as.expireAll();
  texts.push(JSON.stringify(await agent.callTool('notes__whoami')));
  for (const path of ['servers', 'servers/notes', 'credentials', 'connections', 'keys'])
    texts.push(JSON.stringify(await scene.app.adminOk('GET', `/tenants/${tenant.id}/${path}`)));
  for (const [method, path, body] of [
    ['PUT', '/servers/notes/credentials/ada', { oauth: { accessToken: `${access}\u0001` } }],
    ['PUT', '/servers/notes', { url: `https://u:${clientSecret}@a.test`, headers: { 'x-a': `${header}\n` } }],
    [
      'PUT',
      '/servers/new',
      { url: 'https://a.test', headers: { 'x-a': `${header}\u0001`, [`x-key: ${header}`]: 'x' } },
    ],
    ['GET', `/unknown/${clientSecret}`, undefined],
  ] as const)
    texts.push(
      JSON.stringify((await scene.app.admin(method, `/tenants/${tenant.id}${path}`, body)).body).replace(
        `/unknown/${clientSecret}`,
        '',
      ),
    );

  const csrf = browser.page.forms.map(({ fields }) => new Map(fields).get('csrf')).find((value) => value !== undefined);
  const cookie = browser.cookies.header(new URL(link), { sameSite: true, method: 'GET' });
  const secrets = {
    master: MASTER_KEY,
    cookie: String(cookie?.split('; ')[0]?.split('=')[1]),
    csrf: String(csrf),
    databasePassword: new URL(scene.app.databaseUrl).password,
    admin: scene.app.adminKey,
    agent: tenant.key,
    clientSecret,
    header,
    access: String(access),
    code: String(params['code']),
    verifier: String(params['code_verifier']),
    state: String(new URL(authorizationUrl).searchParams.get('state')),
    ticket: String(new URL(link).pathname.split('/').at(-1)),
    refresh: String(
      as.seen.token.find(({ params: sent }) => sent['refresh_token'] !== undefined)?.params['refresh_token'],
    ),
  };
  for (const [name, value] of Object.entries(secrets)) expect(value.length, name).toBeGreaterThan(12);
  expect(foundIn(scene.app.lines.join(''), secrets), 'log').toEqual([]);
  expect(await foundInRows(scene.app, secrets), 'rows').toEqual([]);
  expect(foundIn(texts.join('\n'), secrets), 'answers').toEqual([]);
  const { ticket: _, csrf: __, ...elsewhere } = secrets;
  expect(foundIn(pages.map(({ text }) => text).join('\n'), elsewhere), 'pages').toEqual([]);
});
