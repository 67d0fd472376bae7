// A person signs in at a real authorization server, over its own pages and ours, in a real browser, and agents on
// two nodes go on. Pages are served by the nodes in turn.
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { resultOf } from '../support/agents/raw-result.ts';
import { askable, inputIn, questionIn, react, withAnswer } from '../support/asking.ts';
import { type Era, type TenantSide, useScene } from '../support/scene.ts';
import { type GuardedMcp, startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { type OidcAs, startOidcAs } from '../support/sign-in/oidc-as.ts';
import { withOauth } from '../support/sign-in/sign-in-scene.ts';
import { linkIn } from '../support/sign-in.ts';
import { within } from '../support/within.ts';
import { hasBrowser, NEEDS_BROWSER, type Person, usePeople } from './chromium.ts';
import { startFront } from './front.ts';
import { faultsOf } from './looks.ts';

const front = await startFront();
let laterMs = 0;
const clock = { ...systemClock, now: () => systemClock.now() + laterMs };
const scene = useScene({ http: { publicUrl: front.url }, clock });
const people = usePeople();
afterAll(() => front.close());

const WHOAMI = { name: 'notes__whoami', arguments: {} };

interface World {
  readonly as: OidcAs;
  readonly mcp: GuardedMcp;
  readonly tenant: TenantSide;
  /** Tokens that the server takes no more, although they are good. */
  readonly refused: Set<string>;
  /** Both can show links, and each is at a node of its own. */
  readonly inStream: RawAgent;
  readonly byRetry: RawAgent;
}

async function worldFor(principal: string, era: Era): Promise<World> {
  const as = await scene.keep(startOidcAs());
  const refused = new Set<string>();
  const tokens = { issuer: as.issuer, check: (token: string) => (refused.has(token) ? undefined : as.check(token)) };
  const mcp = await scene.keep(startGuardedMcp({ era, tokens, scopes: ['notes:read'] }));
  const tenant = await scene.tenant({ notes: withOauth(mcp, {}, { title: 'Team Notes' }) });
  const node = await scene.node();
  front.toward(scene.app, node);
  const inStream = await askable(scene, tenant, 'rawLegacy', { principal, app: node });
  const byRetry = await askable(scene, tenant, 'rawModern', { principal });
  return { as, mcp, tenant, refused, inStream, byRetry };
}

/** From the page that asks whether to go on, to the authorization server's pages and back. */
async function signInAs(person: Person, name: string): Promise<void> {
  await person.press('Go on to');
  await person.fill('Name', name);
  await person.press('Sign in');
  await person.press('Allow');
}

describe.skipIf(!hasBrowser)(NEEDS_BROWSER, { timeout: 60_000 }, () => {
  it('the first of a tenant connects: the waiting agent goes on, and the tools appear on both nodes', async () => {
    const { as, mcp, tenant, inStream, byRetry } = await worldFor('ada', 'modern');
    const heardAt: number[] = [];
    for (const agent of [inStream, byRetry]) await agent.onListChanged(() => void heardAt.push(performance.now()));
    const call = await inStream.send('tools/call', { name: 'notes__connect', arguments: { wait: true } });
    const question = await questionIn(call);
    await react(inStream, question, 'accept');

    const ada = await people.somebody();
    let backAt = 0;
    ada.page.on('response', (response) => {
      if (response.url().includes('/oauth/callback/')) backAt = performance.now();
    });
    await ada.open(question.url);
    for (const words of ['Connect Team Notes', new URL(mcp.url).host, new URL(as.issuer).host, 'notes:read', 'ada'])
      await ada.sees(words);
    await ada.photograph('1-confirm');
    expect(as.events.get('registration_create.success'), 'opening the link asks nothing of anybody').toBeUndefined();
    // Where the focus is: a person may do it all with the keyboard.
    await ada.page.keyboard.press('Enter');
    await ada.sees('Sign in');
    await ada.photograph('2-their-sign-in');
    await ada.fill('Name', 'ada-at-notes');
    await ada.page.keyboard.press('Enter');
    await ada.sees('notes:read');
    await ada.photograph('3-their-question');
    await ada.press('Allow');
    await ada.sees('Go back to your agent.');
    await ada.photograph('4-connected');

    expect(await within(resultOf(call), 'the waiting call', 2_000)).toMatchObject({
      structuredContent: { status: 'connected' },
    });
    await expect.poll(() => heardAt.length, { timeout: 2_000 }).toBeGreaterThanOrEqual(2);
    expect(Math.max(...heardAt) - backAt, 'milliseconds').toBeLessThan(1_000);
    for (const agent of [inStream, byRetry]) {
      expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('notes__whoami');
      expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada-at-notes;/);
    }
    expect(await as.check(mcp.tokens[0] ?? '')).toMatchObject({ resource: mcp.url, scopes: ['notes:read'] });
    expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([
      { owner: 'p:ada' },
    ]);
    expect(
      front.served.every((pages) => pages > 0),
      'both nodes served pages',
    ).toBe(true);
    expect(ada.complaintsAt(front.url)).toEqual([]);
    expectNothingInAddress(ada, question.url);
    expect((await ada.open(question.url)).status(), 'the link is used up').toBe(410);
    await ada.photograph('5-used-link');
  });

  it('calls that wait on one node and were asked on another go on by themselves, as the one who signed in', async () => {
    const { as, mcp, tenant, inStream, byRetry } = await worldFor('ben', 'legacy');
    await firstTools(tenant);
    const asked = inputIn(await byRetry.request('tools/call', WHOAMI));
    const there = await askable(scene, tenant, 'rawModern', { principal: 'ben', app: scene.app });
    const waiting = there.request('tools/call', withAnswer(WHOAMI, asked, 'accept'));
    const call = await inStream.send('tools/call', WHOAMI);
    await react(inStream, await questionIn(call), 'accept');
    const ben = await people.somebody();
    await ben.open(asked.url);
    await signInAs(ben, 'ben-at-notes');
    await ben.sees('Go back to your agent.');
    expect(textOf(await within(waiting, 'the call by retry', 2_000))).toMatch(/^who=ben-at-notes;/);
    expect(textOf(await within(resultOf(call), 'the call in a stream', 2_000))).toMatch(/^who=ben-at-notes;/);
    expect(mcp.ran('whoami')).toBe(2);
    expect(as.events.get('grant.success'), 'one for each of two people').toBe(2);
    expect(ben.complaintsAt(front.url)).toEqual([]);
  });

  it('tokens rotate, once for both nodes and each time anew, and no old one comes twice; disconnecting ends the grant', async () => {
    const { as, mcp, refused, inStream, byRetry } = await worldFor('ada', 'modern');
    const ada = await people.somebody();
    await ada.open(linkIn(await byRetry.request('tools/call', await declined(byRetry))));
    await signInAs(ada, 'ada');
    await ada.sees('Go back to your agent.');
    for (const renewals of [1, 2, 3]) {
      // First the server's word, then the clock's: the word alone would not be taken again so soon.
      if (renewals === 1) refused.add(mcp.tokens.at(-1) ?? '');
      else laterMs += 3_600_000;
      const both = await Promise.all([inStream, byRetry].map((agent) => agent.callTool('notes__whoami')));
      expect(both.map(textOf)).toEqual([expect.stringMatching(/^who=ada;/), expect.stringMatching(/^who=ada;/)]);
      expect(as.events.get('refresh_token.consumed')).toBe(renewals);
    }
    expect([as.events.get('grant.error'), as.events.get('grant.revoked')], 'no reuse').toEqual([undefined, undefined]);

    await ada.open(`${front.url}/connections`);
    await ada.sees('Team Notes');
    await ada.photograph('6-connections');
    await ada.press('Disconnect');
    await ada.sees('No server is connected.');
    await ada.photograph('7-disconnected');
    await expect.poll(() => as.events.get('grant.revoked'), { timeout: 5_000 }).toBe(1);
    const call = await inStream.send('tools/call', WHOAMI);
    expect((await questionIn(call)).url).toContain('/connect/');
    expect(inputIn(await byRetry.request('tools/call', WHOAMI)).url).toContain('/connect/');
    expect(ada.complaintsAt(front.url)).toEqual([]);
  });

  it('who says no on the other site connects nothing: the call ends with the link, by which they may try again', async () => {
    const { tenant, inStream } = await worldFor('cy', 'modern');
    await firstTools(tenant);
    const call = await inStream.send('tools/call', WHOAMI);
    const question = await questionIn(call);
    await react(inStream, question, 'accept');
    const cy = await people.somebody();
    await cy.open(question.url);
    await cy.press('Go on to');
    await cy.fill('Name', 'cy-at-notes');
    await cy.press('Sign in');
    await cy.press('Deny');
    await cy.sees('Not connected');
    await cy.photograph('8-said-no');
    expectNothingInAddress(cy, question.url);
    expect(await within(resultOf(call), 'the call to end', 2_000)).toMatchObject({
      isError: true,
      structuredContent: { error: 'sign_in_required', url: question.url },
    });
    expect(await scene.app.sql(`SELECT 1 FROM credentials WHERE owner = 'p:cy'`)).toEqual([]);
    await cy.page.getByRole('link', { name: 'Try again' }).click();
    await cy.press('Go on to');
    await cy.press('Allow');
    await cy.sees('Go back to your agent.');
    expect(textOf(await inStream.callTool('notes__whoami'))).toMatch(/^who=cy-at-notes;/);
    expect(cy.complaintsAt(front.url)).toEqual([]);
  });

  it('the page before a sign-in is easy to read by day, by night, and on a telephone', async () => {
    const { byRetry } = await worldFor('ada', 'modern');
    const link = linkIn(await byRetry.request('tools/call', await declined(byRetry)));
    const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
    const looks = {
      day: {},
      night: { colorScheme: 'dark' },
      phone: { ...phone },
      'phone-at-night': { ...phone, colorScheme: 'dark' },
    } as const;
    for (const [name, options] of Object.entries(looks)) {
      const ada = await people.somebody(options);
      await ada.open(link);
      await ada.photograph(`9-confirm-${name}`);
      expect(await faultsOf(ada), name).toEqual([]);
    }
  });
});

/** Somebody else has connected, so the tools are known; by hand, because it is not what is shown here. */
async function firstTools(tenant: TenantSide): Promise<void> {
  const zoe = await askable(scene, tenant, 'rawModern', { principal: 'zoe' });
  const person = await people.somebody();
  await person.open(linkIn(await zoe.request('tools/call', await declined(zoe))));
  await signInAs(person, 'zoe');
  await person.sees('Go back to your agent.');
  await person.close();
}

/** The next try of an agent whose person does not want to be shown the link now: the link is in the answer. */
async function declined(agent: RawAgent) {
  const params = { name: 'notes__connect', arguments: {} };
  return withAnswer(params, inputIn(await agent.request('tools/call', params)), 'decline');
}

/** Neither of the sign-in nor of the way back (B164). */
function expectNothingInAddress(person: Person, link: string): void {
  const address = new URL(person.page.url());
  const callback = person.visits.map((visit) => new URL(visit.url())).find(({ pathname }) => /^\/oauth/.test(pathname));
  expect([address.search, address.hash]).toEqual(['', '']);
  const secrets = [link.split('/').at(-1), callback?.searchParams.get('state')];
  for (const secret of secrets) expect(address.pathname).not.toContain(secret);
  expect(secrets.every((secret) => (secret?.length ?? 0) > 20)).toBe(true);
}
