// Nothing that a request says sends a browser to another site: a list of what such strings look like, tried at
// every place of the pages that takes one (T9).
import { describe, expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { ELSEWHERE, EVIL } from '../support/elsewhere.ts';
import { addressOf } from '../support/mounted-routes.ts';
import { openConsentSite } from './a-consent-site.ts';
import { handoffReturn, MODES } from './ways-in.ts';

/** As other programs call it. */
const NAMES = [
  'returnTo',
  'return_to',
  'return',
  'next',
  'url',
  'redirect',
  'redirect_uri',
  'continue',
  'target',
  'goto',
];

const everywhere = (text: string): string =>
  new URLSearchParams(NAMES.map((name): [string, string] => [name, text])).toString();

const OURS = /^\/connect(?:ions|\/[A-Za-z0-9_-]{43})?$/;

/** What a browser would make of it. */
const hostOf = (location: string, origin: string): string =>
  location === '' ? new URL(origin).host : new URL(location, origin).host;

it('T9: the list is one of other places, as browsers read them', () => {
  expect(ELSEWHERE.length).toBeGreaterThanOrEqual(60);
  expect(new Set(ELSEWHERE).size).toBe(ELSEWHERE.length);
  const elsewhere = ELSEWHERE.filter((text) => {
    return URL.canParse(text, 'https://px.test') && new URL(text, 'https://px.test').host !== 'px.test';
  });
  expect(elsewhere.length, 'a check that sees nothing passes nothing').toBeGreaterThan(35);
});

describe('T9: after signing out', () => {
  it.each(ELSEWHERE)('nobody goes on to %j', async (target) => {
    await using site = await openConsentSite(aServer(), { tenant: { signIn: MODES.handoff } });
    const { status, location, text, headers } = await site.jar().post('/connect/sign-out', { target });
    expect([status, location, headers.get('refresh')]).toEqual([200, '', null]);
    expect(text).not.toContain('evil');
  });

  it.each(['connect', 'connections', `connect/${'A'.repeat(43)}`])('people go on to our own %s', async (target) => {
    await using site = await openConsentSite(aServer(), { tenant: { signIn: MODES.handoff } });
    const { location } = await site.jar().post('/connect/sign-out', { target });
    expect(location).toBe(`/${target}`);
    expect(location).toMatch(OURS);
  });
});

describe('T9: on every page', () => {
  it('no parameter that others know changes where a browser goes, or is shown', async () => {
    await using site = await openConsentSite(aServer({ credential: { kind: 'oauth' } }));
    const jar = site.jar();
    const link = await site.link('alice');
    const paths = site.routes.flatMap((route) =>
      route.methods.includes('GET')
        ? [addressOf(route, { ticket: link.slice('/connect/'.length), tenant: 'acme' })]
        : [],
    );
    expect(paths.length).toBeGreaterThan(7);
    for (const path of paths)
      for (const text of ELSEWHERE) {
        const query = everywhere(text);
        const seen = await jar.open(`${path}?${query}`);
        expect(hostOf(seen.location, site.origin), `${path} ${text}`).toBe(new URL(site.origin).host);
        expect(seen.headers.get('refresh')).toBeNull();
        expect(seen.text, `${path} ${text}`).not.toContain(EVIL);
      }
  }, 30_000);

  it.each(['oidc', 'handoff'] as const)(
    'nor what is asked for before a person is proved (%s), and what comes back',
    async (mode) => {
      const verify = mode === 'oidc' ? 'https://idp.example' : 'https://saas.example';
      await using site = await openConsentSite(aServer(), { tenant: { signIn: MODES[mode] } });
      for (const text of ELSEWHERE.slice(0, 30)) {
        const jar = site.jar();
        const query = everywhere(text);
        const away = await jar.open(`/connections?tenant=acme&${query}`);
        expect(new URL(away.location).origin, text).toBe(verify);
        expect(away.location, text).not.toContain(EVIL);
        if (mode === 'oidc') continue;
        const back = await jar.open(`${await handoffReturn(site, away, 'alice')}&${query}`);
        expect(back.location, text).toBe('/connections');
      }
    },
  );
});
