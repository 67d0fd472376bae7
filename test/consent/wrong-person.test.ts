// T1: whatever is delivered to the wrong person, in whichever mode, nothing is finished and nothing kept.
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/shared/id.ts';
import { aServer, aTenantId } from '../credential/in-memory.ts';
import { type ConsentSite, openConsentSite } from './a-consent-site.ts';
import { callbackOf, confirmFlow, enter, handoffReturn, MODES, oidcReturn, queryOf } from './ways-in.ts';

const oauth = aServer({ title: 'Notes', credential: { kind: 'oauth' } });
const secret = aServer({ title: 'Notes' });
const WRONG = 'This link belongs to another account';

const nothingHappened = (site: ConsentSite): void => {
  expect(site.flows.done.filter((step) => step.startsWith('finished'))).toEqual([]);
  expect(site.done).toEqual([]);
  expect(site.credentials.rows).toEqual([]);
};

describe.each(['oidc', 'handoff'] as const)('T1 in mode %s', (mode) => {
  const tenant = { signIn: MODES[mode] };

  it.each([
    ['oauth', oauth],
    ['secret', secret],
  ] as const)(
    'B160: Alice’s link shows Bob that it is not his and lets him send nothing (%s)',
    async (_kind, server) => {
      await using site = await openConsentSite(server, { tenant });
      const link = await site.link('alice');
      const bob = site.jar();
      const page = await enter(site, bob, link, 'bob');
      expect([page.status, page.text.includes(WRONG)]).toEqual([403, true]);
      expect(page.text, 'whom it is for is not told').not.toContain('alice');
      const sent = await bob.post(link, {
        secret: 'key-of-bob',
        csrf: page.text.match(/name="csrf" value="([^"]+)"/)?.[1] ?? '',
      });
      expect(sent.status).toBe(403);
      expect(site.flows.done).toEqual([]);
      nothingHappened(site);
      const alice = site.jar();
      expect((await enter(site, alice, link, 'alice')).status).toBe(200);
    },
  );

  it('shows the page to the right person, without the warning for links', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const page = await enter(site, site.jar(), await site.link('alice'), 'alice');
    expect(page.status).toBe(200);
    expect(page.text).toContain('You are signed in as <bdi>alice</bdi>');
    expect(page.text).not.toContain('This link alone');
  });

  it('lets nobody who was not proved send a form, and asks them to sign in by a page, not by a redirect', async () => {
    await using site = await openConsentSite(secret, { tenant });
    const seen = await site.jar().post(await site.link('alice'), { secret: 'key' });
    expect([seen.status, seen.location]).toEqual([200, '']);
    expect(seen.onward).toMatch(/^https:\/\/(?:idp|saas)\.example\//);
    nothingHappened(site);
  });

  it('B160: the address of the authorization server, sent on by Alice, ends at Bob’s browser', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const [alice, bob] = [site.jar(), site.jar()];
    const link = await site.link('alice');
    const real = callbackOf(await alice.press(link, await enter(site, alice, link, 'alice')));
    expect((await bob.open(real)).status).toBe(400);
    await enter(site, bob, await site.link('bob'), 'bob');
    expect((await bob.open(real)).status, 'signed in or not').toBe(400);
    nothingHappened(site);
    expect((await alice.open(real)).status, 'the real one still works').toBe(303);
  });

  it('compares the person again at the end: somebody else signed in meanwhile, or nobody', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const jar = site.jar();
    const link = await site.link('alice');
    const page = await enter(site, jar, link, 'alice');
    const real = callbackOf(await jar.press(link, page));
    const another = await jar.open(`${link}?as=another`);
    const back = mode === 'oidc' ? oidcReturn(another, 'bob') : await handoffReturn(site, another, 'bob');
    expect((await jar.open(back)).status).toBe(303);
    expect((await jar.open(real)).status).toBe(400);
    jar.cookies.take(new URL(site.origin), 'kb_session=; Path=/; Max-Age=0');
    const signedOut = await jar.open(real);
    expect([signedOut.status, signedOut.text.includes('not signed in any more')]).toEqual([400, true]);
    nothingHappened(site);
    const again = await jar.open(link);
    const home = mode === 'oidc' ? oidcReturn(again, 'alice') : await handoffReturn(site, again, 'alice');
    await jar.open(home);
    expect((await jar.open(real)).status).toBe(303);
  });

  it('what brings Alice back from being proved is of no use to Bob', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const [alice, bob] = [site.jar(), site.jar()];
    const departed = await alice.open(await site.link('alice'));
    await bob.open(await site.link('alice'));
    const back = mode === 'oidc' ? oidcReturn(departed, 'alice') : await handoffReturn(site, departed, 'alice');
    expect((await bob.open(back)).status).toBe(400);
    expect(site.sessions.rows).toEqual([]);
    expect(site.idp.proved, 'no code is used for it').toEqual([]);
    expect((await alice.open(back)).status, 'the real one still works').toBe(303);
    expect(site.sessions.rows.map(({ principals }) => principals[0])).toEqual(['alice']);
  });

  it('the third wrong person uses the link up, for everybody', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const link = await site.link('alice');
    for (const who of ['bob', 'carol', 'dave'])
      expect((await enter(site, site.jar(), link, who)).text).toContain(WRONG);
    expect((await enter(site, site.jar(), link, 'alice')).status).toBe(410);
    expect(site.log.filter((line) => line.includes('not made for'))).toHaveLength(3);
  });

  it('T1: a session of another tenant is nobody here, also with the same name', async () => {
    const findTenant = async (id: TenantId) => ({ id, name: id, ...tenant, gatedDefault: false, limits: {} });
    await using site = await openConsentSite(oauth, { tenant, findTenant });
    const jar = site.jar();
    const link = await site.link('alice');
    const real = callbackOf(await jar.press(link, await enter(site, jar, link, 'alice')));
    site.sessions.rows = site.sessions.rows.map((row) => ({ ...row, tenantId: aTenantId('beta') }));
    expect((await jar.open('/connections')).text, 'signed in there').toContain('in <bdi>beta</bdi>');
    expect((await jar.open(link)).status, 'asked to sign in here').toBe(303);
    expect((await jar.open('/connections?tenant=acme')).status).toBe(303);
    expect((await jar.open(real)).status).toBe(400);
    nothingHappened(site);
  });

  it('B223: names are compared byte for byte', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    for (const who of ['Alice', 'alice\u200b', 'al\u0131ce', 'alice#x'])
      expect((await enter(site, site.jar(), await site.link('alice'), who)).status, who).toBe(403);
    nothingHappened(site);
  });

  it('offers to sign in as somebody else, and to sign out', async () => {
    await using site = await openConsentSite(oauth, { tenant });
    const link = await site.link('alice');
    const jar = site.jar();
    const wrong = await enter(site, jar, link, 'bob');
    expect(wrong.text).toContain(`href="${link}?as=another"`);
    const departed = await jar.open(`${link}?as=another`);
    expect(queryOf(departed.location).get('prompt')).toBe(mode === 'oidc' ? 'login' : null);
    const out = await jar.press(link, wrong);
    expect([out.status, out.location]).toEqual([303, link]);
    expect(site.sessions.rows).toEqual([]);
    expect((await enter(site, jar, link, 'alice')).status).toBe(200);
  });
});

describe('T1 in mode link', () => {
  it('takes whoever has the link for the person, says so, and gives a session once they go on', async () => {
    await using site = await openConsentSite(oauth);
    const link = await site.link('alice');
    const jar = site.jar();
    const page = await jar.open(link);
    expect(page.text).toContain('This link alone says who you are');
    expect(site.sessions.rows).toEqual([]);
    await jar.press(link, page);
    expect(site.sessions.rows.map(({ principals }) => principals)).toEqual([['alice']]);
    expect((await jar.open('/connections')).status).toBe(200);
  });

  it('B160: refuses Alice’s link to Bob, who has a session, and uses it up at the third time', async () => {
    await using site = await openConsentSite(secret);
    const bob = site.jar();
    const bobs = await site.link('bob');
    await bob.press(bobs, await bob.open(bobs), { secret: 'key-of-bob' });
    expect(await site.keyOf('bob')).toBe('key-of-bob');
    const link = await site.link('alice');
    expect((await bob.open(link)).text).toContain(WRONG);
    expect((await bob.post(link, { secret: 'key-of-bob' })).status).toBe(403);
    expect(await site.keyOf('alice')).toBeUndefined();
    await bob.open(link);
    expect((await site.jar().open(link)).status).toBe(410);
  });

  it('B160: the address of the authorization server, and the callback, are of no use in another browser', async () => {
    await using site = await openConsentSite(oauth);
    const [alice, bob] = [site.jar(), site.jar()];
    const [alices, bobs] = [await site.link('alice'), await site.link('bob')];
    const real = callbackOf(await alice.press(alices, await alice.open(alices)));
    await bob.press(bobs, await bob.open(bobs));
    expect((await bob.open(real)).status).toBe(400);
    expect((await site.jar().open(real)).status).toBe(400);
    nothingHappened(site);
  });

  it('gives a session to the one whose key was kept, and not to another click with the same', async () => {
    let bothAreHere: () => void = () => undefined;
    const here = new Promise<void>((resolve) => {
      bothAreHere = resolve;
    });
    await using site = await openConsentSite(secret, {
      async tryKey() {
        await here;
        return { ok: true, toolCount: 1 };
      },
    });
    let seen = 0;
    const find = site.ticketRows.find.bind(site.ticketRows);
    site.ticketRows.find = async (...args) => {
      // The rest of a click's way is promises alone, which are all done before the next turn.
      if (++seen === 2) setImmediate(bothAreHere);
      return find(...args);
    };
    const link = await site.link('alice');
    const clicks = [site.jar(), site.jar()].map((jar) => jar.post(link, { secret: 'key' }));
    const later = (await Promise.all(clicks)).map(({ text }) => text);
    expect(later[0]).toBe(later[1]);
    await site.jar().post(link, { secret: 'key' });
    expect(site.sessions.rows).toHaveLength(1);
  });

  it('a session of a link counts no more once the tenant has its people proved, or links are not allowed', async () => {
    let isAllowed = true;
    await using site = await openConsentSite(oauth, { linkSignInAllowed: () => isAllowed });
    const link = await site.link('alice');
    const jar = site.jar();
    await jar.press(link, await jar.open(link));
    isAllowed = false;
    expect((await jar.open('/connections')).status).toBe(401);
    isAllowed = true;
    expect((await jar.open('/connections')).status).toBe(200);
    site.signIn = MODES.oidc;
    expect((await jar.open('/connections')).status).toBe(401);
    expect((await jar.open(link)).location).toContain('https://idp.example/');
  });
});

describe('a flow that the product confirms', () => {
  it('is confirmed only with the key of its tenant, compared as a whole', async () => {
    await using site = await openConsentSite(oauth, { tenant: { signIn: MODES.handoff } });
    const flow = queryOf((await site.jar().open(await site.link())).location).get('flow');
    for (const key of ['saas-kez', 'saas-ke', 'saas-key-', 'sealed:key:saas-key'])
      expect((await confirmFlow(site, { flow, principal: 'alice' }, key)).status, key).toBe(404);
    site.signIn = { ...MODES.handoff, mode: 'handoff', verifyUrl: 'https://saas.example/', key: '' };
    expect((await confirmFlow(site, { flow, principal: 'alice' }, '')).status).toBe(401);
    site.signIn = MODES.handoff;
    expect((await confirmFlow(site, { flow, principal: 'alice' })).status).toBe(200);
  });
});
