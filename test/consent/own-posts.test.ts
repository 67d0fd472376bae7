// Posts that no page of ours sent, on every route that takes posts; and sessions that somebody else chose.
import { describe, expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { addressOf } from '../support/mounted-routes.ts';
import { type ConsentSite, openConsentSite } from './a-consent-site.ts';
import type { Jar, Seen } from './a-jar.ts';
import { enter, MODES } from './ways-in.ts';

/** Called by a product's server, with its key; what a browser sends along counts for nothing there. */
const BY_KEY = '/connect/handoff';

interface House {
  readonly site: ConsentSite;
  readonly jar: Jar;
  /** The page of the link, with alice signed in. */
  readonly page: Seen;
  /** Addresses that take a form. */
  readonly forms: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
  /** All that a post could have changed. */
  done(): unknown;
}

async function house(kind: 'oauth' | 'secret'): Promise<House & AsyncDisposable> {
  const server = aServer({ credential: { kind } });
  const site = await openConsentSite(server, {
    tenant: { signIn: MODES.handoff },
    listCredentials: async () => [{ server, connectedAt: 0, account: undefined, isOver: false }],
  });
  const jar = site.jar();
  const link = await site.link('alice');
  const page = await enter(site, jar, link, 'alice');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1];
  if (csrf === undefined) throw new Error(`no page for alice: ${page.status}`);
  const ticket = link.slice('/connect/'.length);
  return {
    site,
    jar,
    page,
    forms: site.routes.flatMap((route) =>
      route.methods.includes('POST') && route.path !== BY_KEY ? [addressOf(route, { ticket })] : [],
    ),
    fields: { csrf, secret: 'key', server: server.id, principal: 'alice', target: 'connections', shown: 'as-shown' },
    done: () => ({
      done: [...site.done, ...site.flows.done],
      sessions: site.sessions.rows.map(({ hash }) => hash.toString('hex')),
      tickets: site.ticketRows.rows.map(({ isUsed }) => isUsed),
    }),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

describe.each(['oauth', 'secret'] as const)('T25: no form is taken (%s)', (kind) => {
  it.each([
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'same-site' },
    { origin: 'http://127.0.0.1.evil.example', 'sec-fetch-site': 'none' },
    { origin: 'file://', 'sec-fetch-site': 'none' },
  ])('that comes with %j, whatever it brings', async (headers) => {
    await using open = await house(kind);
    const { jar, forms, fields, done } = open;
    expect(forms).toHaveLength(4);
    const before = done();
    for (const path of forms) {
      const answer = await jar.post(path, fields, headers);
      expect([answer.status, answer.location, answer.headers.getSetCookie()], path).toEqual([403, '', []]);
      expect(answer.text).toContain('sent from another site');
    }
    expect(done()).toEqual(before);
  });

  it.each(['', 'wrong', 'of another session'])('with a session and the token %j', async (token) => {
    await using open = await house(kind);
    const { site, jar, forms, fields, done } = open;
    const other = site.jar();
    const theirs = await enter(site, other, await site.link('bob'), 'bob');
    const csrf = token === 'of another session' ? /name="csrf" value="([^"]+)"/.exec(theirs.text)?.[1] : token;
    const before = done();
    for (const path of forms) {
      const answer = await jar.post(path, { ...fields, csrf: csrf ?? '' });
      expect([answer.status, answer.location, answer.headers.getSetCookie()], path).toEqual([403, '', []]);
    }
    expect(done()).toEqual(before);
  });

  it('twice in one field, nor under a name that objects have by themselves', async () => {
    await using open = await house(kind);
    const { site, jar, forms, fields, done } = open;
    const before = done();
    const cookie = jar.cookies.header(new URL(site.origin), { sameSite: true, method: 'POST' }) ?? '';
    for (const path of forms)
      for (const csrf of [
        `csrf=${fields['csrf']}&csrf=${fields['csrf']}`,
        `csrf[]=${fields['csrf']}`,
        '__proto__[csrf]=x',
      ]) {
        const body = `${csrf}&secret=key&server=${fields['server']}&principal=alice`;
        const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
        const answer = await fetch(site.origin + path, { method: 'POST', headers, body, redirect: 'manual' });
        expect(answer.status, `${path} ${csrf}`).toBe(403);
      }
    expect(done()).toEqual(before);
  });

  it('but is, with the right token from our own page', async () => {
    await using open = await house(kind);
    const { jar, forms, fields } = open;
    for (const path of forms.toSorted((a) => (a === '/connect/sign-out' ? 1 : -1)))
      expect((await jar.post(path, fields)).status, path).toBeLessThan(400);
  });
});

describe('T25: what a product’s server calls', () => {
  it('takes a key and nothing else: no cookie lets in, and no session comes out', async () => {
    await using open = await house('secret');
    const { site, jar, done } = open;
    const departed = await site.jar().open('/connect?tenant=acme');
    const flow = new URL(departed.location).searchParams.get('flow') ?? '';
    const before = done();
    const cookie = jar.cookies.header(new URL(site.origin), { sameSite: true, method: 'POST' }) ?? '';
    const headers = { cookie, 'content-type': 'application/json' };
    const body = JSON.stringify({ flow, principal: 'alice' });
    const answer = await fetch(site.origin + BY_KEY, { method: 'POST', headers, body });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
    expect(done()).toEqual(before);
  });
});

describe('T25: a session that somebody else chose', () => {
  it.each(['oidc', 'handoff', 'link'] as const)(
    'is not the one that a person has after a sign-in (%s)',
    async (mode) => {
      const server = aServer({ credential: { kind: 'oauth' } });
      await using site = await openConsentSite(server, { tenant: { signIn: MODES[mode] } });
      const planted = 'A'.repeat(43);
      const jar = site.jar();
      jar.cookies.take(new URL(site.origin), `kb_session=${planted}; Path=/`);
      const link = await site.link('alice');
      await jar.press(link, await enter(site, jar, link, 'alice'));
      const [mine, ...more] = jar.cookies.list().filter(({ name }) => name === 'kb_session');
      expect(more).toEqual([]);
      expect(mine?.value).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(mine?.value).not.toBe(planted);
      const thief = site.jar();
      thief.cookies.take(new URL(site.origin), `kb_session=${planted}; Path=/`);
      expect((await thief.open('/connections')).status).toBe(401);
      expect((await jar.open('/connections')).status).toBe(200);
    },
  );

  it('that was good before is over with the sign-in that takes its place', async () => {
    await using site = await openConsentSite(aServer(), { tenant: { signIn: MODES.handoff } });
    const eve = site.jar();
    await enter(site, eve, await site.link('eve'), 'eve');
    const planted = eve.cookies.list().find(({ name }) => name === 'kb_session')?.value ?? '';
    const alice = site.jar();
    alice.cookies.take(new URL(site.origin), `kb_session=${planted}; Path=/`);
    const link = await site.link('alice');
    expect((await alice.open(link)).status, 'eve is not alice').toBe(403);
    await enter(site, alice, `${link}?as=another`, 'alice');
    expect(alice.cookies.list().find(({ name }) => name === 'kb_session')?.value).not.toBe(planted);
    expect((await eve.open('/connections')).status).toBe(401);
    expect((await alice.open('/connections')).status).toBe(200);
  });
});
