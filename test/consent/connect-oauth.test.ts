import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { aServer } from '../credential/in-memory.ts';
import { type ConsentSite, openConsentSite } from './a-consent-site.ts';
import type { Jar, Seen } from './a-jar.ts';
import { callbackOf } from './ways-in.ts';

const server = aServer({ title: 'Notes', credential: { kind: 'oauth' } });
let site: ConsentSite;
let jar: Jar;
beforeEach(async () => {
  site = await openConsentSite(server);
  jar = site.jar();
});
afterEach(() => site[Symbol.asyncDispose]());

/** Agrees on the page of a link. */
async function agree(link: string, browser = jar): Promise<Seen> {
  return browser.press(link, await browser.open(link));
}

const flowCookies = (browser = jar) => browser.cookies.list().filter(({ name }) => name.startsWith('kb_flow_'));

describe('the page before a sign-in elsewhere', () => {
  it('T1: names server, its host, where the person signs in, the issuer, the scopes, the account and the tenant', async () => {
    const page = await jar.open(await site.link('https://idp.example#42'));
    expect(page.status).toBe(200);
    for (const words of [
      'Notes',
      '(<bdi>notes</bdi>)',
      'notes.example',
      'login.notes.example',
      'https://as.notes.example',
      'notes:read',
      'notes:write',
      'https://idp.example#42',
      'Acme',
      'This link alone says who you are',
    ])
      expect(page.text).toContain(words);
    expect(page.text.match(/<form/g)).toHaveLength(1);
  });

  it('T25: lets its form lead to the other site and wherever that one signs people in, and nowhere else', async () => {
    const policyOf = async (authorizationOrigin: string): Promise<string | null> => {
      site.flows.preview_ = { authorizationOrigin };
      return (await jar.open(await site.link())).headers.get('content-security-policy');
    };
    const policy = (formAction: string): string =>
      `default-src 'none'; style-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`;
    expect(await policyOf('https://login.notes.example')).toBe(policy("'self' https: https://login.notes.example"));
    expect(await policyOf('http://127.0.0.1:9')).toBe(
      policy("'self' https: http://127.0.0.1:9 http://127.0.0.1:* http://localhost:*"),
    );
  });

  it('T1: opening it begins nothing and sets no cookie, however often', async () => {
    const link = await site.link();
    for (let times = 0; times < 15; times++) expect((await jar.open(link)).status).toBe(200);
    expect(site.flows.done).toEqual([]);
    expect(jar.cookies.list()).toEqual([]);
  });

  it('T1: only agreeing sets the transaction cookie, and then sends the browser on', async () => {
    const going = await agree(await site.link());
    expect(going.status).toBe(303);
    expect(going.location).toMatch(/^https:\/\/login\.notes\.example\/authorize\?state=/);
    expect(going.text).toBe('');
    expect(site.flows.done).toEqual(['begun alice']);
    const [id] = site.flows.attempts.keys();
    const set = going.headers.getSetCookie().find((one) => one.startsWith('kb_flow_'));
    expect(set).toMatch(
      new RegExp(
        `^kb_flow_${String(id)}=[A-Za-z0-9_-]{43}\\.[A-Za-z0-9_-]{43}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax$`,
      ),
    );
    expect(site.ticketRows.rows[0]?.isUsed, 'the link stays good until a sign-in has ended well').toBe(false);
  });

  it('T25: does not begin for a form from another site', async () => {
    const link = await site.link();
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
      expect((await jar.post(link, {}, headers)).status).toBe(403);
    expect(site.flows.done).toEqual([]);
  });

  it('says what is wrong with how the server is set up, or that its site is down', async () => {
    const link = await site.link();
    const page = await jar.open(link);
    site.flows.failure = new ProxyError('upstream_protocol', 'The server <names> no authorization server.');
    for (const seen of [await jar.open(link), await jar.press(link, page)]) {
      expect(seen.status).toBe(502);
      expect(seen.text).toContain('The server &lt;names&gt; no authorization server.');
      expect(seen.text).toContain('Ask the administrator');
    }
    site.flows.failure = new ProxyError('upstream_unavailable', 'It does not answer.');
    expect((await jar.open(link)).text).toContain('It does not answer.');
    site.flows.failure = new TypeError('canary-of-a-fault');
    const broken = await jar.open(link);
    expect(broken.status).toBe(500);
    expect(broken.text).not.toContain('canary');
    expect(flowCookies()).toEqual([]);
  });

  it('waits twenty seconds for the other site and no longer', async () => {
    let asked = (): void => undefined;
    const asking = new Promise<void>((resolve) => {
      asked = resolve;
    });
    site.flows.preview = () => {
      asked();
      return new Promise(() => undefined);
    };
    const page = jar.open(await site.link());
    await asking;
    site.clock.advance(20_000);
    expect((await page).status).toBe(504);
  });

  it('T28: begins ten attempts with one link and no more', async () => {
    const link = await site.link();
    for (let times = 0; times < 10; times++) expect((await agree(link)).status).toBe(303);
    expect((await agree(link)).status).toBe(429);
    expect(site.flows.done).toHaveLength(10);
  });

  it('never goes on to an address that is a script', async () => {
    site.flows.begin = async () => ({ kind: 'begun', id: 'x', url: 'javascript:alert(1)' });
    const seen = await agree(await site.link());
    expect([seen.status, seen.location]).toEqual([500, '']);
  });
});

describe('the way back', () => {
  it('finishes, takes code and state out of the address, tells it on a page of its own, and uses up the link', async () => {
    const link = await site.link();
    const back = await jar.open(callbackOf(await agree(link)));
    const [id] = site.flows.attempts.keys();
    expect([back.status, back.location]).toEqual([303, `/connect/done/${String(id)}`]);
    expect(back.text).toBe('');
    expect(site.flows.done).toEqual(['begun alice', 'finished alice']);
    const end = await jar.open(back.location);
    expect(end.status).toBe(200);
    expect(end.text).toContain('Go back to your agent.');
    expect((await jar.open(link)).status).toBe(410);
  });

  it('B155: two tabs for one server both finish, in any order', async () => {
    const link = await site.link();
    const [first, second] = [await agree(link), await agree(link)];
    expect(flowCookies()).toHaveLength(2);
    for (const going of [second, first]) {
      const back = await jar.open(callbackOf(going));
      expect((await jar.open(back.location)).text).toContain('Go back to your agent.');
    }
    expect(site.flows.done.filter((step) => step === 'finished alice')).toHaveLength(2);
  });

  it('B155: two people at the same time finish each for themselves', async () => {
    const other = site.jar();
    const [alices, bobs] = [await agree(await site.link('alice')), await agree(await site.link('bob'), other)];
    await other.open(callbackOf(bobs));
    await jar.open(callbackOf(alices));
    expect(site.flows.done).toEqual(['begun alice', 'begun bob', 'finished bob', 'finished alice']);
  });

  it('B158: forged ones get 400 and change nothing, and the real one still works', async () => {
    const going = await agree(await site.link());
    const real = callbackOf(going);
    const state = new URL(going.onward).searchParams.get('state') ?? '';
    const altered = (state.startsWith('A') ? 'B' : 'A') + state.slice(1);
    for (const forged of [
      '/oauth/callback/ctx-notes?code=c&state=random',
      `/oauth/callback/ctx-notes?code=c&state=${altered}`,
      `/oauth/callback/ctx-other?code=c&state=${state}`,
      `/oauth/callback/ctx-notes?code=c&state=${state}&state=${state}`,
      '/oauth/callback/ctx-notes?error=access_denied',
      '/oauth/callback/ctx-notes?error=access_denied&state=',
      '/oauth/callback/ctx-notes',
      '/oauth/callback/%00?state=x',
    ]) {
      const seen = await jar.open(forged);
      expect([forged, seen.status]).toEqual([forged, 400]);
      expect(seen.headers.getSetCookie()).toEqual([]);
    }
    expect(site.flows.done).toEqual(['begun alice']);
    expect((await jar.open(real)).status).toBe(303);
    expect(site.flows.done).toEqual(['begun alice', 'finished alice']);
  });

  it('B160: another browser cannot finish it, with or without a cookie of its own making', async () => {
    const real = callbackOf(await agree(await site.link()));
    const [id = ''] = site.flows.attempts.keys();
    const other = site.jar();
    await agree(await site.link(), other);
    expect((await other.open(real)).status).toBe(400);
    const own = other.cookies.list().find(({ name }) => name.startsWith('kb_flow_'))?.value ?? '';
    for (const made of [own, `${'A'.repeat(43)}.${'A'.repeat(43)}`, '', 'x']) {
      other.cookies.take(new URL(site.origin), `kb_flow_${id}=${made}; Path=/`);
      expect((await other.open(real)).status).toBe(400);
    }
    expect(site.flows.done.filter((step) => step.startsWith('finished'))).toEqual([]);
    expect((await jar.open(real)).status).toBe(303);
  });

  it('B161: ten at the same time and one later make one request, and all read the same end', async () => {
    let open = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    site.flows.beforeEnd = () => held;
    const real = callbackOf(await agree(await site.link()));
    const all = Array.from({ length: 10 }, () => jar.open(real));
    const early = await Promise.race(all);
    expect(early.status).toBe(303);
    const waiting = await jar.open(early.location);
    expect(waiting.text).toContain('looks again by itself');
    expect(waiting.headers.get('refresh')).toBe(`2; url=${early.location}?look=1`);
    open();
    const pages = await Promise.all(
      [...(await Promise.all(all)), await jar.open(real)].map(({ location }) => jar.open(location)),
    );
    expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
    expect(pages[0]?.text).toContain('Go back to your agent.');
    expect(site.flows.done).toEqual(['begun alice', 'finished alice']);
  });

  it('B161: does not look again for ever when a node died over it', async () => {
    site.flows.end = { kind: 'taken' };
    const { location } = await jar.open(callbackOf(await agree(await site.link())));
    const last = await jar.open(`${location}?look=15`);
    expect(last.headers.get('refresh')).toBeNull();
    expect(last.text).toContain('it knows whether it worked');
    expect((await jar.open(`${location}?look=x`)).headers.get('refresh')).toBeNull();
  });

  it('B165: a no is told as a no, and the link can be used again', async () => {
    site.flows.end = { kind: 'denied' };
    const link = await site.link();
    const hostile = { error: 'access_denied', error_description: '<script>alert(1)</script>'.repeat(200) };
    const back = await jar.open(callbackOf(await agree(link), hostile));
    const end = await jar.open(back.location);
    expect(end.text).toContain('was not given');
    expect(end.text).not.toContain('alert(1)');
    expect(end.text.length).toBeLessThan(2_000);
    expect(end.onward).toBe(link);
    site.flows.end = { kind: 'connected' };
    const again = await jar.open(callbackOf(await agree(link)));
    expect((await jar.open(again.location)).text).toContain('Go back to your agent.');
  });

  it('B165: a failure is told with our reason, escaped, and never with the other site’s words', async () => {
    site.flows.end = { kind: 'failed', reason: 'The sign-in server refused (<b>invalid_grant).' };
    const hostile = { error: 'x', error_description: 'hostile words', error_uri: 'https://evil.example' };
    const back = await jar.open(callbackOf(await agree(await site.link()), hostile));
    const end = await jar.open(back.location);
    expect(end.text).toContain('refused (&lt;b&gt;invalid_grant)');
    expect(end.text).not.toMatch(/hostile|evil\.example/);
  });

  it('tells a fault of ours without its words, and logs no code, state or cookie', async () => {
    site.flows.finish = () => Promise.reject(new TypeError('canary-of-a-fault'));
    const back = await jar.open(callbackOf(await agree(await site.link()), { code: 'c0de-canary' }));
    const end = await jar.open(back.location);
    expect(end.text).toContain('Something went wrong on our side.');
    expect(end.text).not.toContain('canary');
    const log = site.log.join('');
    expect(log).toContain('could not be finished');
    expect(log).not.toMatch(/c0de-canary/);
    for (const { value } of jar.cookies.list()) expect(log).not.toContain(value);
  });

  it('tells the end only to the browser that has the cookie; to all others as if there were none', async () => {
    const { location } = await jar.open(callbackOf(await agree(await site.link())));
    const other = site.jar();
    const strangers = [
      await other.open(location),
      await other.open('/connect/done/unknown'),
      await other.open('/connect/done/%0d%0a'),
    ];
    expect(new Set(strangers.map(({ text, status }) => `${status} ${text}`)).size).toBe(1);
    expect(strangers[0]?.status).toBe(404);
    expect((await jar.open(location)).status).toBe(200);
  });
});

describe('a form that is not fresh', () => {
  it('B163: two tabs, and a session that began in between, cost no click more', async () => {
    const link = await site.link();
    const [one, two] = [await jar.open(link), await jar.open(link)];
    expect(two.text).toBe(one.text);
    site.clock.advance(9 * 60_000);
    expect((await jar.press(link, one)).onward).toContain('login.notes.example');
    // The first click made a session, of which the second page knows nothing.
    expect((await jar.press(link, two)).onward).toContain('login.notes.example');
  });
});
