import { describe, expect, it } from 'vitest';
import { readCookies } from '../../src/consent/cookies.ts';
import { makeKeepsake, purposeOf } from '../../src/consent/keepsake.ts';
import { siteOf } from '../../src/consent/site.ts';
import { aServer } from '../credential/in-memory.ts';
import { openConsentSite } from './a-consent-site.ts';
import { callbackOf, handoffReturn, MODES } from './ways-in.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'`</bdi>';

describe('the place of the pages', () => {
  it.each([
    ['https://px.test', ''],
    ['https://px.test/', ''],
    ['https://px.test/keys', '/keys'],
    ['https://px.test/keys//', '/keys'],
  ])('B154: %s keeps its prefix everywhere, without a double slash', (publicUrl, prefix) => {
    const site = siteOf(publicUrl);
    expect(site.path('/connect')).toBe(`${prefix}/connect`);
    expect(site.url('/connect/return?code=x')).toBe(`https://px.test${prefix}/connect/return?code=x`);
  });

  it('B154: no page behind a prefix links, sends or redirects past it', async () => {
    const server = aServer({ credential: { kind: 'oauth' } });
    await using site = await openConsentSite(server, {
      tenant: { signIn: MODES.handoff },
      publicUrl: () => 'https://px.test/keys/',
      listCredentials: async () => [{ server, connectedAt: 0, account: undefined, isOver: false }],
    });
    const jar = site.jar();
    const departed = await jar.open('/connections?tenant=acme');
    const back = (await handoffReturn(site, departed, 'alice')).replace('/keys', '');
    const link = await site.link('alice');
    const seen = [
      await jar.open(back),
      await jar.open('/connect'),
      await jar.open('/connections'),
      await jar.open(link),
    ];
    const going = await jar.post(link, { csrf: seen[3]?.text.match(/name="csrf" value="([^"]+)"/)?.[1] ?? '' });
    seen.push(going, await jar.open(callbackOf(going)), await jar.open(await site.link('bob')));
    const own = seen.flatMap(({ text, location }) => [
      ...[...text.matchAll(/(?:href|action)="(\/[^"]*)"/g)].map(([, path]) => path),
      ...(location === '' || location.startsWith('https://login.notes.example/') ? [] : [location]),
    ]);
    expect(own.length).toBeGreaterThan(10);
    for (const path of own) expect(path).toMatch(/^\/keys\/connect(?:\.css|ions)?(?:[/?].*)?$/);
  });

  it('over https all cookies are __Host- and Secure, and browsers are told to stay on https', async () => {
    await using site = await openConsentSite(aServer({ credential: { kind: 'oauth' } }), {
      publicUrl: () => 'https://px.test/keys',
      tenant: { signIn: MODES.handoff },
    });
    const jar = site.jar();
    const departed = await jar.open(await site.link());
    const back = await jar.open((await handoffReturn(site, departed, 'alice')).replace('/keys', ''));
    const page = await jar.open(back.location.replace('/keys', ''));
    const going = await jar.press(back.location.replace('/keys', ''), page);
    const set = [departed, back, going].flatMap(({ headers }) => headers.getSetCookie());
    expect(set.map((one) => one.replace(/^([\w-]*kb_[a-z]+)[=_][^;]*/, '$1'))).toEqual([
      '__Host-kb_person; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
      '__Host-kb_session; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax; Secure',
      '__Host-kb_flow; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    ]);
    expect(departed.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect((await jar.open(callbackOf(going))).status).toBe(303);
  });

  it('over https a cookie without the __Host- name is nobody’s', async () => {
    await using site = await openConsentSite(aServer(), {
      publicUrl: () => 'https://px.test',
      tenant: { signIn: MODES.handoff },
    });
    const jar = site.jar();
    await jar.open(await handoffReturn(site, await jar.open('/connections?tenant=acme'), 'alice'));
    expect((await jar.open('/connections')).status).toBe(200);
    const value = jar.cookies.list().find(({ name }) => name === '__Host-kb_session')?.value ?? '';
    const tossed = site.jar();
    tossed.cookies.take(new URL(site.origin), `kb_session=${value}; Path=/`);
    expect((await tossed.open('/connections')).status).toBe(401);
  });
});

describe('every route', () => {
  it('T25: answers with the strict headers, whatever is asked and however', async () => {
    await using site = await openConsentSite(aServer({ credential: { kind: 'oauth' } }));
    const jar = site.jar();
    const link = await site.link();
    const going = await jar.press(link, await jar.open(link));
    const back = await jar.open(callbackOf(going));
    const broken = await openConsentSite(aServer(), { findTenant: () => Promise.reject(new Error('down')) });
    await using _closing = broken;
    const answers = [
      going,
      back,
      await jar.open(back.location),
      await jar.open('/connect'),
      await jar.open('/connections'),
      await jar.open('/connect/done/x'),
      await jar.open('/connect/return'),
      await jar.open('/connect/callback/acme'),
      await jar.open('/oauth/callback/x'),
      await jar.post('/connections', {}),
      await jar.post('/connections', {}, { origin: 'https://evil.example' }),
      await jar.post('/connect/sign-out', { csrf: 'x' }),
      await jar.post('/connect/handoff', {}),
      await jar.open('/connect/%E0%A4%A'),
      await jar.post('/connect', { x: 'x'.repeat(20_000) }),
      await broken.jar().open(await broken.link()),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      303, 303, 200, 200, 200, 404, 400, 400, 400, 403, 403, 403, 401, 400, 413, 500,
    ]);
    for (const { headers, text } of answers) {
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(text).not.toMatch(/<script|style=|<style|\son\w+=/i);
    }
  });
});

describe('names that are code', () => {
  it('B164: stay text on every page, wherever an admin, an agent or another site put them', async () => {
    const server = { ...aServer({ credential: { kind: 'oauth' } }), title: HOSTILE, description: HOSTILE };
    await using site = await openConsentSite(server, {
      tenant: { name: HOSTILE, signIn: MODES.handoff },
      listCredentials: async () => [{ server, connectedAt: 0, account: HOSTILE, isOver: false }],
    });
    site.flows.preview_ = {
      issuer: HOSTILE,
      scopes: [HOSTILE, ...Array<string>(60).fill('x'.repeat(5_000))],
    };
    const jar = site.jar();
    const link = await site.link(HOSTILE);
    await jar.open(await handoffReturn(site, await jar.open(link), HOSTILE));
    const pages = [
      await jar.open(link),
      await jar.open('/connect'),
      await jar.open('/connections'),
      await jar.open(await site.link('bob')),
    ];
    for (const end of [
      { kind: 'failed', reason: HOSTILE },
      { kind: 'denied' },
      { kind: 'taken' },
      { kind: 'connected' },
    ] as const) {
      site.flows.end = end;
      const going = await jar.press(link, await jar.open(link));
      const query = { code: HOSTILE, error: HOSTILE, error_description: HOSTILE, iss: HOSTILE };
      pages.push(going, await jar.open((await jar.open(callbackOf(going, query))).location));
    }
    expect(pages).toHaveLength(12);
    for (const { text, status } of pages) {
      expect([200, 303, 403]).toContain(status);
      expect(text).not.toMatch(/<img/i);
      const bare = text.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g) ?? [];
      expect(bare.join('')).not.toMatch(/onerror|alert|\son\w+=/);
      expect(text.length).toBeLessThan(20_000);
    }
    const named = pages.filter(({ text }) => text.includes('&lt;img src=x onerror=alert(1)&gt;'));
    expect(named, 'all but the four that only say where the browser goes on').toHaveLength(8);
  });
});

describe('what a browser keeps while it is away', () => {
  it('is matched as a whole, purpose included', () => {
    const { text, hash } = makeKeepsake('connections');
    expect(purposeOf(text, hash)).toBe('connections');
    for (const other of [
      undefined,
      '',
      text.replace('connections', 'connect'),
      `${text}x`,
      makeKeepsake('connections').text,
    ])
      expect(purposeOf(other, hash)).toBeUndefined();
    expect(() => makeKeepsake('a; b')).toThrow(TypeError);
  });

  it('is read from the header as it came, the first of a name', () => {
    expect([...readCookies('a=1; b=2=3 ;a=9; c; =x; d=')]).toEqual([
      ['a', '1'],
      ['b', '2=3'],
      ['d', ''],
    ]);
    expect([...readCookies(undefined)]).toEqual([]);
  });
});
