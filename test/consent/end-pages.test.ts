// How a sign-in that did not work is told: with a way on that is there.
import { describe, expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { type ConsentSite, openConsentSite } from './a-consent-site.ts';
import type { Jar, Seen } from './a-jar.ts';
import { callbackOf, enter, MODES } from './ways-in.ts';

async function endOf(
  site: ConsentSite,
  jar: Jar,
  link: string,
  answer: Readonly<Record<string, string>>,
): Promise<Seen> {
  const going = await jar.press(link, await enter(site, jar, link, 'alice'));
  return jar.open((await jar.open(callbackOf(going, answer))).location);
}

describe.each(['failed', 'denied'] as const)('a sign-in that ended as %s', (kind) => {
  const answer = kind === 'failed' ? { code: 'c0de' } : { error: 'access_denied' };
  const end = kind === 'failed' ? { kind, reason: 'The code was refused.' } : { kind };

  it.each(['link', 'oidc', 'handoff'] as const)(
    'offers the link again while it is good, and else a new one (%s)',
    async (mode) => {
      await using site = await openConsentSite(aServer({ credential: { kind: 'oauth' } }), {
        tenant: { signIn: MODES[mode] },
      });
      site.flows.end = end;
      const jar = site.jar();
      const link = await site.link('alice');
      const told = await endOf(site, jar, link, answer);
      const isGood = (await jar.open(link)).status === 200;
      // Only a code that came back uses up what anybody may hold.
      expect(isGood).toBe(!(mode === 'link' && kind === 'failed'));
      expect(told.text.includes('try again')).toBe(isGood);
      expect(told.text.includes(`href="${link}"`)).toBe(isGood);
      expect(told.text.includes('ask your agent for a new one')).toBe(!isGood);
    },
  );
});
