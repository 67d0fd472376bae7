// A sign-in server that takes connections and says nothing holds up nobody for long, and others not at all.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Scene, without } from '../support/scene.ts';
import type { AsPlace } from '../support/sign-in/as-options.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import type { ScriptedAs } from '../support/sign-in/scripted-as.ts';
import { confirm, linkFrom, signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const clock = new FakeClock();
const scene = new Scene({ clock });
beforeAll(() => scene.begin());
afterEach(() => scene.clear());
afterAll(() => scene.end());

const hang = (): Promise<never> => new Promise(() => undefined);

/** Lets the time pass, from the moment the server was asked, until `work` ends; gives how much passed. */
async function timeOf<T>(as: ScriptedAs, place: AsPlace, work: Promise<T>): Promise<readonly [T, number]> {
  const seen = as.seen[place].length;
  await as.until(() => as.seen[place].length > seen);
  const begun = clock.now();
  let isDone = false;
  const ended = work.finally(() => (isDone = true));
  await eventually('an end', () => isDone || (clock.advance(1_000), false));
  return [await ended, clock.now() - begun];
}

describe('a sign-in (B026)', () => {
  it.each<[AsPlace, number]>([
    ['metadata', 30_000],
    ['register', 20_000],
    ['token', 30_000],
  ])('whose server hangs at %s ends with a page, and the next try works', async (place, longestMs) => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    const link = await linkFrom(ada);
    as.always(place, hang);
    const opening = place === 'metadata' ? new Browser().open(link) : confirm(link);
    const [page, ms] = await timeOf(as, place, opening);
    expect(page.text).not.toContain('<title>Connected</title>');
    expect(page.text).toMatch(/try again|did not answer|too long|in a moment|later/i);
    expect(ms).toBeLessThanOrEqual(longestMs);
    as.always(place, undefined);
    // Until then the failure is remembered.
    clock.advance(15_000);
    await signIn({ as }, ada);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });
});

describe('a renewal (B026)', () => {
  it('whose server hangs ends the call and not the grant, and other servers are served meanwhile', async () => {
    const { as, agent, tenant, importTokens } = await aGrantedPerson(scene, 'modern', 'rawModern');
    const plain = await scene.open('modern');
    await tenant.put('plain', without(plain));
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    as.always('token', hang);
    const call = agent.callTool('notes__whoami');
    await as.until(() => as.seen.token.length === 1);
    expect(textOf(await agent.callTool('plain__whoami'))).toMatch(/^who=/);
    let result: unknown;
    const ended = call.then((value) => (result = value));
    const begun = clock.now();
    await eventually('the call to end', () => result !== undefined || (clock.advance(1_000), false));
    await ended;
    expect(result).toMatchObject({ structuredContent: { error: 'upstream_unavailable' } });
    expect(clock.now() - begun).toBeLessThanOrEqual(25_000);
    as.always('token', undefined);
    clock.advance(5_000);
    expect(textOf(await agent.callTool('notes__whoami')), 'nothing is held any more').toMatch(/^who=ada;/);
    expect(as.seen.token).toHaveLength(2);
    expect(as.revocations).toBe(0);
  });
});
