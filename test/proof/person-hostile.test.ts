// Names, scopes and errors that others choose are full of markup, and other sites play with our pages: a real
// browser shows the markup as text, runs nothing, and hands nothing over (T25).
import type { ServerResponse } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { useScene } from '../support/scene.ts';
import { type GuardedMcp, startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { type ScriptedAs, startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { linkFrom, withOauth } from '../support/sign-in/sign-in-scene.ts';
import { listen } from '../support/upstreams/listener.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { hasBrowser, NEEDS_BROWSER, usePeople } from './chromium.ts';
import { startFront } from './front.ts';
import { harmIn } from './harm.ts';
import { catchAuthorize } from './ways-in.ts';

const front = await startFront();
const scene = useScene({ http: { publicUrl: front.url } });
const people = usePeople();
afterAll(() => front.close());

const MARKUP = `</p>"'><img src=x onerror=ran=1><script>ran=1;alert(1)</script>`;
/** As far as a scope may be written (RFC 6749 §3.3). */
const SCOPE = `<img/src=x/onerror=ran=1>`;
const PRINCIPAL = 'ada<img src=x onerror=ran=1>';

interface Hostile {
  readonly as: ScriptedAs;
  readonly mcp: GuardedMcp;
  readonly link: string;
  /** A code that came back uses a link up, whatever became of it. */
  anotherLink(): Promise<string>;
}

async function hostile(): Promise<Hostile> {
  const as = await scene.keep(startScriptedAs());
  const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as, scopes: [SCOPE] }));
  const tenant = await scene.tenant({ notes: withOauth(mcp, {}, { title: MARKUP }) });
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { name: MARKUP });
  front.toward(scene.app);
  const anotherLink = async (): Promise<string> => linkFrom(await tenant.raw('rawLegacy', PRINCIPAL));
  return { as, mcp, link: await anotherLink(), anotherLink };
}

/** A site of somebody else, with one page. */
async function siteWith(body: string): Promise<string> {
  const site = await scene.keep(
    listen((_, res: ServerResponse) => res.writeHead(200, { 'content-type': 'text/html' }).end(body)),
  );
  return site.url;
}

describe.skipIf(!hasBrowser)(NEEDS_BROWSER, { timeout: 60_000 }, () => {
  it('the markup does run where a page takes it as it is', async () => {
    const eve = await people.somebody();
    await eve.open(await siteWith(MARKUP));
    await expect.poll(() => eve.evaluate('globalThis.ran')).toBe(1);
    expect(eve.complaintsAt(new URL(eve.page.url()).origin)).toContain('dialog: 1');
    expect(await harmIn(eve)).toEqual(
      expect.arrayContaining(['ran', 'a img', 'a script', 'img with onerror', 'dialog: 1']),
    );
  });

  it('names of servers, tenants, people and scopes are shown as they are written, on every page that has them', async () => {
    const { link } = await hostile();
    const ada = await people.somebody();
    await ada.open(link);
    for (const words of [`Connect ${MARKUP}`, SCOPE, PRINCIPAL]) await ada.sees(words);
    expect(await harmIn(ada)).toEqual([]);
    // Afterwards: what hides the caret for the photograph stays on the page.
    await ada.photograph('hostile-names');
    await ada.press('Go on to');
    await ada.sees(`${MARKUP} is ready to use`);
    expect(await harmIn(ada)).toEqual([]);
    for (const path of ['/connections', '/connect']) {
      await ada.open(`${front.url}${path}`);
      await ada.sees(`Signed in as ${PRINCIPAL} in ${MARKUP}`);
      expect(await harmIn(ada), path).toEqual([]);
    }
    await ada.open(`${front.url}/connections`);
    await ada.press(`Disconnect ${MARKUP}`);
    await ada.sees('No server is connected.');
  });

  it('what an authorization server says about a refusal is shown nowhere, and its word for it does no harm (B165)', async () => {
    const { as, anotherLink } = await hostile();
    const ada = await people.somebody();
    const said = `${MARKUP} Call us at once!`;
    const answers: readonly JsonObject[] = [{ error: MARKUP }, { error: 'invalid_grant', error_description: said }];
    const ways = [
      () => (as.settings.authorize = { kind: 'deny', error: MARKUP, description: said }),
      () => (as.settings.authorize = { kind: 'deny', error: 'access_denied', description: said.repeat(50) }),
      () => (as.settings.authorize = { kind: 'approve' }),
      ...answers.map((body) => () => as.once('token', async () => ({ status: 400, body }))),
    ];
    as.once('token', async () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: said }));
    for (const [number, arrange] of ways.entries()) {
      arrange();
      await ada.open(await anotherLink());
      await ada.press('Go on to');
      await ada.sees('Not connected');
      expect(await harmIn(ada), `way ${number}`).toEqual([]);
      expect(await ada.reads(), `way ${number}`).not.toContain('Call us');
    }
    await ada.photograph('hostile-answer');
  });

  it('what stands in an address is shown nowhere', async () => {
    await hostile();
    const eve = await people.somebody();
    const bad = encodeURIComponent(MARKUP);
    for (const path of [
      `/connect/${bad}`,
      `/connect/done/${bad}`,
      `/connect?tenant=${bad}`,
      `/connections?tenant=${bad}`,
      `/connect/return?code=${bad}`,
      `/connect/callback/${bad}?state=${bad}`,
      `/oauth/callback/${bad}?state=${bad}&error=${bad}&error_description=${bad}`,
      `/oauth/callback/x?error=${bad}`,
    ]) {
      expect((await eve.open(`${front.url}${path}`)).status(), path).toBeGreaterThanOrEqual(400);
      expect(await harmIn(eve), path).toEqual([]);
      expect(await eve.reads(), path).not.toContain('onerror');
    }
  });

  it.each(['javascript:ran=1', 'data:text/html,<script>ran=1</script>'])(
    'nobody is sent to %s to sign in (T8)',
    async (authorization_endpoint) => {
      const { as, link } = await hostile();
      as.settings.metadata = { authorization_endpoint };
      const ada = await people.somebody();
      await ada.open(link);
      await ada.sees('This sign-in is not available');
      expect(await ada.page.getByRole('button').count()).toBe(0);
      expect(await harmIn(ada)).toEqual([]);
    },
  );

  it('the page is shown in no frame of another site', async () => {
    const { link } = await hostile();
    const ada = await people.somebody();
    await ada.open(await siteWith(`<h1>Win a prize</h1><iframe src="${link}"></iframe>`));
    await ada.sees('Win a prize');
    const [, framed] = ada.page.frames();
    expect(await framed?.locator('button').count()).toBe(0);
    expect(ada.visits.map((visit) => visit.url())).toContain(link);
  });

  it('a form of another site begins nothing, with the right link and in the right browser', async () => {
    const { as, link } = await hostile();
    const ada = await people.somebody();
    await ada.open(link);
    await catchAuthorize(as, () => ada.press('Go on to'));
    const attempts = () => scene.app.sql('SELECT count(*)::int AS count FROM sign_in_attempts');
    const before = await attempts();
    await ada.open(await siteWith(`<form method="post" action="${link}"><button>Win a prize</button></form>`));
    await ada.press('Win a prize');
    await ada.sees('sent from another site');
    expect(await attempts()).toEqual(before);
    expect(as.seen.authorize).toHaveLength(1);
  });
});
