// Two people with a browser each: what belongs to Ada's sign-in is delivered to Bob, at each of the four places
// where that can happen (T1). Nothing is asked of the authorization server, nothing is kept, and Ada goes on.
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import { linkFrom, withOauth } from '../support/sign-in/sign-in-scene.ts';
import { hasBrowser, NEEDS_BROWSER, type Person, usePeople } from './chromium.ts';
import { startFront } from './front.ts';
import { catchAuthorize, type House, houseOf } from './ways-in.ts';

const front = await startFront();
const scene = useScene({ http: { publicUrl: front.url } });
const people = usePeople();
afterAll(() => front.close());
// So that no row of one test is seen by the next.
afterEach(() => scene.app.sql('DELETE FROM credentials'));

const NOT_HERE = 'This sign-in cannot be finished here';

/** Ada as far as the page that asks whether to go on. */
async function adaAt(house: House): Promise<Person> {
  const ada = await people.somebody();
  await house.enter(ada, await house.linkFor('ada'), 'ada');
  await ada.sees('Connect Team Notes');
  return ada;
}

/**
 * Others than Ada: a browser that was never here, Bob in the middle of a sign-in of his own, and the Ada of
 * another tenant in the middle of hers.
 */
async function othersAt(house: House): Promise<readonly Person[]> {
  const [stranger, bob, namesake] = [await people.somebody(), await people.somebody(), await people.somebody()];
  await house.enter(bob, await house.linkFor('bob'), 'bob');
  const elsewhere = await scene.tenant({ notes: withOauth(house.mcp) });
  await namesake.open(await linkFrom(await elsewhere.raw('rawModern', 'ada')));
  for (const one of [bob, namesake]) await catchAuthorize(house.as, () => one.press('Go on to'));
  return [stranger, bob, namesake];
}

const kept = (): Promise<unknown> => scene.app.sql('SELECT tenant_id, owner FROM credentials');

async function expectNothing(house: House): Promise<void> {
  expect(house.as.seen.token.length, 'token requests').toBe(0);
  expect(await kept()).toEqual([]);
}

async function expectAdaConnected(house: House, ada: Person): Promise<void> {
  await ada.sees('Go back to your agent.');
  expect(house.as.seen.token.length, 'token requests').toBe(1);
  expect(await kept()).toEqual([{ tenant_id: house.tenant.id, owner: 'p:ada' }]);
  const agent = await house.tenant.raw('rawLegacy', 'ada');
  expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada-there;/);
  expect(ada.complaintsAt(front.url)).toEqual([]);
}

/** His own answers are pages with an error status, which the console always mentions. */
function expectQuiet(bob: Person): void {
  expect(bob.complaintsAt(front.url).filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
}

describe.skipIf(!hasBrowser)(NEEDS_BROWSER, { timeout: 60_000 }, () => {
  describe.each(['oidc', 'handoff'] as const)('people proved by %s', (mode) => {
    it('T1: the link of another is told to be another’s, without a word of whose, and stays good for its owner', async () => {
      const house = await houseOf(scene, front, mode);
      const link = await house.linkFor('ada');
      const [bob, ada] = [await people.somebody(), await people.somebody()];
      await house.enter(bob, link, 'bob');
      await bob.sees('This link belongs to another account');
      await bob.photograph(`wrong-link-${mode}`);
      expect(await bob.reads()).not.toMatch(/\bada\b/);
      expect(await bob.page.getByRole('button').allInnerTexts()).toEqual(['Sign out']);
      await expectNothing(house);
      house.as.settings.nextSubject = 'ada-there';
      await house.enter(ada, link, 'ada');
      await ada.press('Go on to');
      await expectAdaConnected(house, ada);
      expectQuiet(bob);
    });

    it('T1: the way back of the one who proved herself lets nobody else in', async () => {
      const house = await houseOf(scene, front, mode);
      const others = await othersAt(house);
      const ada = await people.somebody();
      const [back] = await Promise.all([
        front.catch(house.comesBackTo),
        house.enter(ada, await house.linkFor('ada'), 'ada'),
      ]);
      for (const one of others) {
        expect((await one.open(back)).status()).toBe(400);
        await one.sees(NOT_HERE);
        expectQuiet(one);
      }
      const sessions = await scene.app.sql('SELECT principals FROM browser_sessions WHERE tenant_id = $1', [
        house.tenant.id,
      ]);
      expect(JSON.stringify(sessions)).not.toContain('ada');
      await expectNothing(house);
      house.as.settings.nextSubject = 'ada-there';
      await ada.open(back);
      await ada.press('Go on to');
      await expectAdaConnected(house, ada);
    });

    it('T1: a sign-in is not finished for who sits there now, when it was begun by another in the same browser', async () => {
      const house = await houseOf(scene, front, mode);
      const ada = await adaAt(house);
      const [callback] = await Promise.all([front.catch('/oauth/callback/'), ada.press('Go on to')]);
      await ada.open(`${front.url}/connections`);
      await ada.press('Sign out');
      // Whoever proved her has forgotten her too.
      await ada.page.context().clearCookies({ domain: '127.0.0.1' });
      await house.enter(ada, await house.linkFor('bob'), 'bob');
      await ada.sees('You are signed in as bob');
      const response = await ada.open(callback);
      await expectNothing(house);
      expect(response.status()).toBe(400);
      await ada.sees('not signed in any more as the person who began this');
      expectQuiet(ada);
    });
  });

  describe.each(['oidc', 'handoff', 'link'] as const)('people proved by %s', (mode) => {
    it('T1: neither the address of the authorization server nor its answer is of use to anybody else', async () => {
      const house = await houseOf(scene, front, mode);
      const others = await othersAt(house);
      const ada = await adaAt(house);
      const address = await catchAuthorize(house.as, () => ada.press('Go on to'));
      house.as.settings.nextSubject = 'bob-there';
      for (const one of others) {
        await one.open(address);
        await expectNothing(house);
        await one.sees(NOT_HERE);
        expect(new URL(one.page.url()).searchParams.has('code'), 'said yes there').toBe(true);
      }
      house.as.settings.nextSubject = 'ada-there';
      const [callback] = await Promise.all([
        front.catch('/oauth/callback/'),
        ada.open(address).catch(() => 'stays where it is'),
      ]);
      for (const one of others) {
        const response = await one.open(callback);
        await expectNothing(house);
        expect(response.status()).toBe(400);
        await one.sees(NOT_HERE);
        await one.photograph('wrong-browser');
        expectQuiet(one);
      }
      await ada.open(callback);
      await expectAdaConnected(house, ada);
    });
  });
});
