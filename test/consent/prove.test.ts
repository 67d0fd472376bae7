import { describe, expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { openConsentSite } from './a-consent-site.ts';
import { confirmFlow, enter, handoffReturn, MODES, oidcReturn, queryOf } from './ways-in.ts';

const server = aServer({ credential: { kind: 'oauth' } });
const oidc = { tenant: { signIn: MODES.oidc } };
const handoff = { tenant: { signIn: MODES.handoff } };

describe('a person proved by the identity provider', () => {
  it('is asked for with our own redirect URI, whatever the request says of hosts (T9)', async () => {
    await using site = await openConsentSite(server, { ...oidc, publicUrl: () => 'https://px.test/keys/' });
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' };
    await site.jar().open(await site.link(), headers);
    expect(site.idp.asked[0]?.redirectUri).toBe('https://px.test/keys/connect/callback/acme');
  });

  it('is proved with the very state, nonce and verifier, of which nothing is stored (T22)', async () => {
    await using site = await openConsentSite(server, oidc);
    await enter(site, site.jar(), await site.link(), 'alice');
    const { state = '', nonce = '', verifier = '' } = site.idp.asked[0] ?? {};
    expect(site.idp.proved).toEqual(site.idp.asked);
    expect(new Set([state, nonce, verifier]).size).toBe(3);
    for (const one of [state, nonce, verifier]) {
      expect(one).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(JSON.stringify(site.signIns.rows)).not.toContain(one);
    }
    expect(site.idp.providers[0]).toMatchObject({ issuer: 'https://idp.example', clientId: 'kb', claim: 'sub' });
    expect(site.idp.providers[0]?.clientSecret?.reveal()).toBe('hush');
  });

  it('may be named by `issuer#value`, or by the value alone', async () => {
    await using site = await openConsentSite(server, oidc);
    for (const principal of ['alice', 'https://idp.example#alice'])
      expect((await enter(site, site.jar(), await site.link(principal), 'alice')).status, principal).toBe(200);
    for (const principal of ['https://other.example#alice', 'https://idp.example#bob', 'bob'])
      expect((await enter(site, site.jar(), await site.link(principal), 'alice')).status, principal).toBe(403);
  });

  it('is nobody of another issuer by a value that looks like one of its people', async () => {
    await using site = await openConsentSite(server, oidc);
    const victim = 'https://other.example#alice';
    expect((await enter(site, site.jar(), await site.link(victim), victim)).status).toBe(403);
    expect((await enter(site, site.jar(), await site.link('a#b'), 'a#b')).status).toBe(403);
    expect((await enter(site, site.jar(), await site.link('HTTPS://x'), 'HTTPS://x')).status).toBe(403);
  });

  it('T9: a state that was altered, is another tenant’s, or stands twice is nobody’s', async () => {
    await using site = await openConsentSite(server, oidc);
    const jar = site.jar();
    const back = oidcReturn(await jar.open(await site.link()), 'alice');
    const state = queryOf(back).get('state') ?? '';
    for (const forged of [
      back.replace(state, `${state.slice(0, -1)}!`),
      back.replace('/acme', '/beta'),
      back.replace('/acme', '/ACME%20'),
      `${back}&state=${state}`,
      '/connect/callback/acme?code=alice',
      '/connect/callback/acme?error=access_denied',
    ])
      expect([forged, (await jar.open(forged)).status]).toEqual([forged, 400]);
    expect(site.idp.proved).toEqual([]);
    expect((await jar.open(back)).status).toBe(303);
  });

  it('T4: comes in once; the same answer again goes on to the page and asks nothing', async () => {
    await using site = await openConsentSite(server, oidc);
    const jar = site.jar();
    const link = await site.link();
    const back = oidcReturn(await jar.open(link), 'alice');
    const all = await Promise.all(Array.from({ length: 10 }, () => jar.open(back)));
    all.push(await jar.open(back));
    expect(all.map(({ status, location }) => [status, location])).toEqual(all.map(() => [303, link]));
    expect(site.idp.proved).toHaveLength(1);
    expect(site.sessions.rows).toHaveLength(1);
  });

  it('has ten minutes', async () => {
    await using site = await openConsentSite(server, oidc);
    const jar = site.jar();
    const back = oidcReturn(await jar.open(await site.link()), 'alice');
    site.clock.advance(10 * 60_000);
    expect((await jar.open(back)).status).toBe(400);
  });

  it('B164: a refusal is told in our words; what else breaks is ours', async () => {
    await using site = await openConsentSite(server, oidc);
    const jar = site.jar();
    const departed = await jar.open(await site.link());
    const state = queryOf(departed.location).get('state') ?? '';
    const no = await jar.open(`/connect/callback/acme?error=access_denied&error_description=<script>&state=${state}`);
    expect([no.status, no.text.includes('The sign-in was not allowed.'), no.text.includes('script')]).toEqual([
      403,
      true,
      false,
    ]);
    site.idp.prove = () => Promise.reject(new TypeError('canary-of-a-fault'));
    const broken = await jar.open(oidcReturn(await jar.open(await site.link()), 'alice'));
    expect([broken.status, broken.text.includes('canary')]).toEqual([500, false]);
    expect(site.sessions.rows).toEqual([]);
  });

  it('may be called anything that is a name, and nothing that is not', async () => {
    await using site = await openConsentSite(server, oidc);
    for (const who of ['', ' alice', 'a\u0000b', 'x'.repeat(600)])
      expect((await enter(site, site.jar(), await site.link(), who)).status, who).toBe(403);
    expect(site.sessions.rows).toEqual([]);
  });

  it('is sent off at most twenty times with one link, for browsers that keep no cookies', async () => {
    await using site = await openConsentSite(server, oidc);
    const link = await site.link();
    for (let times = 0; times < 20; times++) expect((await site.jar().open(link)).status).toBe(303);
    expect((await site.jar().open(link)).status).toBe(429);
  });

  it.each([true, false])(
    'new sign-ins are made for the name that its agents use (signed tokens: %s)',
    async (hasIssuer) => {
      await using site = await openConsentSite(server, { ...oidc, hasIssuer: async () => hasIssuer });
      await enter(site, site.jar(), await site.link('alice'), 'alice');
      const names = ['https://idp.example#alice', 'alice'];
      expect(site.sessions.rows[0]?.principals).toEqual(hasIssuer ? names : names.toReversed());
    },
  );
});

describe('a person proved by the product', () => {
  it('is sent to its verify address with a flow id, and no more', async () => {
    await using site = await openConsentSite(server, handoff);
    const { location } = await site.jar().open(await site.link());
    expect(location).toMatch(/^https:\/\/saas\.example\/verify\?from=kb&flow=[A-Za-z0-9_-]{22}$/);
  });

  it('comes back by an address of ours with a code that works once, for two minutes', async () => {
    await using site = await openConsentSite(server, { ...handoff, publicUrl: () => 'https://px.test/keys/' });
    const jar = site.jar();
    const link = await site.link();
    const departed = await jar.open(link);
    const flow = queryOf(departed.location).get('flow');
    const { status, body } = await confirmFlow(site, { flow, principal: 'alice' });
    expect(status).toBe(200);
    expect(body['continue']).toMatch(/^https:\/\/px\.test\/keys\/connect\/return\?code=[A-Za-z0-9_-]{43}$/);
    const { search } = new URL(String(body['continue']));
    const code = queryOf(search).get('code') ?? '';
    expect(JSON.stringify(site.signIns.rows)).not.toContain(code);
    const all = await Promise.all([jar.open(`/connect/return${search}`), jar.open(`/connect/return${search}`)]);
    for (const seen of all) expect([seen.status, seen.location]).toEqual([303, `/keys${link}`]);
    expect(site.sessions.rows).toHaveLength(1);
    site.clock.advance(2 * 60_000);
    expect((await jar.open(`/connect/return${search}`)).status).toBe(400);
  });

  it('cannot be confirmed for two people, nor after it was used; a page loaded twice is fine', async () => {
    await using site = await openConsentSite(server, handoff);
    const jar = site.jar();
    const departed = await jar.open(await site.link());
    const flow = queryOf(departed.location).get('flow');
    const first = await handoffReturn(site, departed, 'alice');
    expect((await confirmFlow(site, { flow, principal: 'bob' })).status).toBe(409);
    const second = await handoffReturn(site, departed, 'alice');
    expect((await jar.open(first)).status, 'replaced').toBe(400);
    expect((await jar.open(second)).status).toBe(303);
    expect((await confirmFlow(site, { flow, principal: 'alice' })).status).toBe(409);
  });

  it('answers in words for programs when something is not right', async () => {
    await using site = await openConsentSite(server, handoff);
    const flow = queryOf((await site.jar().open(await site.link())).location).get('flow');
    const asked = [
      await confirmFlow(site, { flow: 'unknown', principal: 'alice' }),
      await confirmFlow(site, { flow: [flow], principal: 'alice' }),
      await confirmFlow(site, { flow, principal: '' }),
      await confirmFlow(site, { flow, principal: { $ne: '' } }),
      await confirmFlow(site, { flow, principal: ' alice' }),
      await confirmFlow(site, {}),
    ];
    expect(asked.map(({ status }) => status)).toEqual([404, 404, 400, 400, 400, 404]);
    for (const { body } of asked) expect(Object.keys(body)).toEqual(['error', 'message']);
    site.clock.advance(10 * 60_000);
    expect((await confirmFlow(site, { flow, principal: 'alice' })).status).toBe(404);
  });

  it('tells a broken body from a long one, and never as a page with a stack', async () => {
    await using site = await openConsentSite(server, handoff);
    const send = (body: string) =>
      fetch(`${site.origin}/connect/handoff`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    for (const [body, status] of [
      ['{', 400],
      [JSON.stringify({ flow: 'x'.repeat(20_000) }), 413],
      ['"flow"', 400],
    ] as const) {
      const response = await send(body);
      expect(response.status).toBe(status);
      expect(await response.text()).not.toMatch(/at .*\.(?:js|ts)/);
    }
  });
});
