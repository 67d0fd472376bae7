import { expect, it } from 'vitest';
import type { Registered } from '../../src/catalog/registry.ts';
import { createSignInDone } from '../../src/proxy/sign-in-done.ts';
import { SignInRequiredError } from '../../src/shared/errors.ts';
import { anAsking } from './an-asking.ts';
import { aCaller, NEVER, server, settled, Upstream } from './support.ts';

function aBench() {
  const upstream = new Upstream();
  upstream.credential = undefined;
  const asking = anAsking(upstream);
  const registered: Registered = { server, source: 'table', enabled: true, definition: {}, lists: new Map() };
  const signInDone = createSignInDone({
    registry: { tenant: () => ({ version: 1, byName: new Map([['notes', registered]]) }) },
    waits: asking.waits,
    clock: asking.clock,
  });
  const asked = (name = 'notes', lifeMs = 600_000): SignInRequiredError =>
    new SignInRequiredError(name, 'http://127.0.0.1/connect/x', asking.clock.now() + lifeMs);
  return { ...asking, signInDone, asked };
}

it('the sign-in that an error asked for is done when the person has signed in', async () => {
  const { signInDone, asked, signIn, waits } = aBench();
  const done = signInDone(aCaller(), asked(), NEVER);
  await settled();
  expect(waits.size).toBe(1);
  signIn();
  expect(await done).toBe(true);
});

it('is not done when the link has expired, when the person said no, or when the server is gone', async () => {
  const { signInDone, asked, clock, deny, timersLeft } = aBench();
  const late = signInDone(aCaller(), asked('notes', 5_000), NEVER);
  await settled();
  clock.advance(5_000);
  expect(await late).toBe(false);
  const denied = signInDone(aCaller(), asked(), NEVER);
  await settled();
  deny();
  expect(await denied).toBe(false);
  expect(await signInDone(aCaller(), asked('gone'), NEVER)).toBe(false);
  expect(timersLeft()).toBe(0);
});
