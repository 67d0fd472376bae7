import { describe, expect, it } from 'vitest';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { ConnectedServer } from '../../src/consent/overview.ts';
import { aServer } from '../credential/in-memory.ts';
import { type ConsentSite, openConsentSite } from './a-consent-site.ts';
import type { Jar } from './a-jar.ts';
import { enter, handoffReturn, MODES, oidcReturn } from './ways-in.ts';

const notes = aServer({ title: 'Notes', credential: { kind: 'oauth' } });
const tracker = aServer({ url: 'https://tracker.example/mcp' }, { name: 'tracker' });
const shared = aServer({ credential: { kind: 'secret', owner: 'tenant' } }, { name: 'shared' });
const off = aServer({ enabled: false }, { name: 'off' });
const all = [notes, tracker, shared, off];

const connected = (server: UpstreamServer, connectedAt = 0): ConnectedServer => ({
  server,
  connectedAt,
  account: undefined,
  isOver: false,
});

/** A jar in which this person is signed in. */
async function signedIn(site: ConsentSite, who: string): Promise<Jar> {
  const jar = site.jar();
  const first = await jar.open('/connect?tenant=acme');
  const back = site.signIn.mode === 'oidc' ? oidcReturn(first, who) : await handoffReturn(site, first, who);
  await jar.open(back);
  return jar;
}

describe.each(['/connect', '/connections'])('%s for nobody', (path) => {
  it.each(['oidc', 'handoff'] as const)(
    'starts the sign-in of the tenant that is named (%s), and comes back',
    async (mode) => {
      await using site = await openConsentSite(notes, { tenant: { signIn: MODES[mode] } });
      const jar = site.jar();
      const departed = await jar.open(`${path}?tenant=acme`);
      expect(departed.status).toBe(303);
      const back = mode === 'oidc' ? oidcReturn(departed, 'alice') : await handoffReturn(site, departed, 'alice');
      expect((await jar.open(back)).location).toBe(path);
      expect((await jar.open(path)).status).toBe(200);
      expect((await jar.open(`${path}?tenant=acme`)).status).toBe(200);
    },
  );

  it('says to open a link of the agent, the same whatever else is asked', async () => {
    await using site = await openConsentSite(notes);
    const jar = site.jar();
    const seen = [];
    for (const query of [
      '',
      '?tenant=acme',
      '?tenant=unknown',
      '?tenant=',
      '?tenant=%00<script>',
      '?tenant=acme&tenant=beta',
    ])
      seen.push(await jar.open(path + query));
    expect(new Set(seen.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(seen[0]?.status).toBe(401);
    expect(seen[0]?.text).toContain('Ask your agent');
  });

  it('takes no form', async () => {
    await using site = await openConsentSite(notes);
    expect((await site.jar().post(path, { server: notes.id, principal: 'alice' })).status).toBe(401);
    expect(site.ticketRows.rows).toEqual([]);
    expect(site.done).toEqual([]);
  });
});

describe('what is still to be connected', () => {
  const handoff = { tenant: { signIn: MODES.handoff }, listServers: async () => all };

  it('lists the servers that need this very person and have nothing of theirs', async () => {
    const has = new Set<string>();
    await using site = await openConsentSite(notes, {
      ...handoff,
      listCredentials: async (_tenant, principalId) =>
        all.filter(({ name }) => has.has(`${name} ${principalId}`)).map((server) => connected(server)),
    });
    const jar = await signedIn(site, 'alice');
    const page = await jar.open('/connect');
    expect(page.text.match(/aria-label="[^"]*"/g)).toEqual([
      'aria-label="Connect Notes"',
      'aria-label="Connect tracker"',
    ]);
    expect(page.text).toContain('tracker.example');
    expect(page.text).toContain('Signed in as <bdi>alice</bdi> in <bdi>Acme</bdi>');
    has.add('notes bob').add('tracker alice');
    expect((await jar.open('/connect')).text.match(/aria-label="[^"]*"/g)).toEqual(['aria-label="Connect Notes"']);
    has.add('notes alice');
    expect((await jar.open('/connect')).text).toContain('Nothing is left to connect');
  });

  it('lists a server whose connection has ended, and says so, unless another name of the person is connected', async () => {
    const kept: Record<string, readonly ConnectedServer[]> = { alice: [{ ...connected(notes), isOver: true }] };
    await using site = await openConsentSite(notes, {
      ...handoff,
      listCredentials: async (_tenant, principalId) => kept[principalId] ?? [],
    });
    const jar = await signedIn(site, 'alice');
    const page = (await jar.open('/connect')).text;
    expect(page.match(/aria-label="[^"]*"/g)).toEqual(['aria-label="Connect Notes"', 'aria-label="Connect tracker"']);
    expect(page.match(/that has ended: connect it anew/g)).toHaveLength(1);
    kept['alice'] = [...(kept['alice'] ?? []), connected(notes)];
    expect((await jar.open('/connect')).text).not.toContain('Connect Notes');
  });

  it('each button makes a link for the person and goes on to it', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const seen = await jar.press('/connect', await jar.open('/connect'));
    expect([seen.status, seen.location.startsWith('/connect/')]).toEqual([303, true]);
    expect(site.ticketRows.rows.map(({ principalId, serverId }) => [principalId, serverId])).toEqual([
      ['alice', notes.id],
    ]);
    expect((await jar.open(seen.location)).text).toContain('Go on to');
  });

  it('T25: only from its own page, and only for servers that need a person', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const csrf = (await jar.open('/connect')).text.match(/name="csrf" value="([^"]+)"/)?.[1] ?? '';
    const server = notes.id;
    expect((await jar.post('/connect', { server })).status).toBe(403);
    expect((await jar.post('/connect', { server, csrf: `${csrf}x` })).status).toBe(403);
    expect((await jar.post('/connect', { server, csrf }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    for (const other of [shared.id, off.id, 'unknown', ''])
      expect((await jar.post('/connect', { server: other, csrf })).status).toBe(404);
    expect(site.ticketRows.rows).toEqual([]);
  });
});

describe('what is connected', () => {
  const since = Date.UTC(2026, 10, 29, 23, 40);
  const kept: Readonly<Record<string, readonly ConnectedServer[]>> = {
    alice: [{ ...connected(notes, since), account: 'alice@notes.example' }, connected(tracker, since)],
    bob: [connected(notes, since)],
    dora: [{ ...connected(notes, since), isOver: true }],
  };
  const deps = {
    tenant: { signIn: MODES.handoff },
    listCredentials: async (_tenant: unknown, principalId: string) => kept[principalId] ?? [],
  };

  it('says which server, where, since when and as whom', async () => {
    await using site = await openConsentSite(notes, deps);
    const page = await (await signedIn(site, 'alice')).open('/connections');
    for (const words of [
      'Notes',
      'notes.example',
      'Nov 29, 2026',
      '11:40',
      'datetime="2026-11-29T23:40:00.000Z"',
      'alice@notes.example',
      'tracker.example',
    ])
      expect(page.text).toContain(words);
    expect((await (await signedIn(site, 'carol')).open('/connections')).text).toContain('No server is connected');
  });

  it('does not call connected what has ended, and lets it be disconnected all the same', async () => {
    await using site = await openConsentSite(notes, deps);
    const jar = await signedIn(site, 'dora');
    const page = await jar.open('/connections');
    expect(page.text).toContain('that has ended: connect it anew');
    expect(page.text).not.toContain('since <time');
    await jar.press('/connections', page);
    expect(site.done).toEqual(['disconnected notes p:dora']);
  });

  it('B213: each button ends one, for this person only, and the page comes back', async () => {
    await using site = await openConsentSite(notes, deps);
    const jar = await signedIn(site, 'alice');
    const seen = await jar.press('/connections', await jar.open('/connections'), {}, 1);
    expect([seen.status, seen.location]).toEqual([303, '/connections']);
    expect(site.done).toEqual(['disconnected tracker p:alice']);
  });

  it('T25, B223: ends nothing of another person’s, and nothing without its own form', async () => {
    await using site = await openConsentSite(notes, deps);
    const jar = await signedIn(site, 'bob');
    const page = await jar.open('/connections');
    for (const fields of [
      { principal: 'alice' },
      { server: tracker.id, principal: 'alice' },
      { server: tracker.id },
      { principal: 'BOB' },
      { principal: '' },
    ])
      expect((await jar.press('/connections', page, fields)).status).toBe(303);
    expect((await jar.press('/connections', page, { csrf: '' })).status).toBe(403);
    const strange = await jar.post(
      '/connections',
      { server: notes.id, principal: 'bob' },
      { 'sec-fetch-site': 'same-site' },
    );
    expect(strange.status).toBe(403);
    expect(site.done).toEqual([]);
  });
});

describe('a browser session', () => {
  const handoff = { tenant: { signIn: MODES.handoff } };

  it('T25: is a cookie that no script and no other site gets, for eight hours', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = site.jar();
    const departed = await jar.open('/connections?tenant=acme');
    const back = await jar.open(await handoffReturn(site, departed, 'alice'));
    expect(back.headers.getSetCookie()[0]).toMatch(
      /^kb_session=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/,
    );
    const cookie = jar.cookies.list().find(({ name }) => name === 'kb_session');
    expect(JSON.stringify(site.sessions.rows)).not.toContain(cookie?.value);
    site.clock.advance(8 * 60 * 60_000 - 1);
    jar.cookies.take(new URL(site.origin), `kb_session=${String(cookie?.value)}; Path=/; Max-Age=99999`);
    expect((await jar.open('/connections')).status).toBe(200);
    site.clock.advance(1);
    expect((await jar.open('/connections')).status).toBe(401);
  });

  it('T25: gets a new id at each sign-in, and the old one is worth nothing', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const old = jar.cookies.list().find(({ name }) => name === 'kb_session')?.value ?? '';
    await enter(site, jar, `${await site.link('bob')}?as=another`, 'bob');
    const thief = site.jar();
    thief.cookies.take(new URL(site.origin), `kb_session=${old}; Path=/`);
    expect((await thief.open('/connections')).status).toBe(401);
    expect(site.sessions.rows.map(({ principals }) => principals)).toEqual([['bob']]);
  });

  it('ends with signing out, by its own form only', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const page = await jar.open('/connections');
    expect((await jar.post('/connect/sign-out', {})).status).toBe(403);
    expect((await jar.open('/connections')).status).toBe(200);
    const out = await jar.press('/connections', page);
    expect(out.text).toContain('You are signed out');
    expect(out.headers.getSetCookie()).toEqual(['kb_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
    expect(site.sessions.rows).toEqual([]);
  });

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'connect/../x',
    'connect/x',
    'javascript:x',
    'connections?x',
    'connect\n',
  ])('T9: %s is no place to go on to after signing out', async (target) => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const out = await jar.press('/connections', await jar.open('/connections'), { target });
    expect([out.status, out.location]).toEqual([200, '']);
  });

  it('lets nobody into anything but the pages: it is no credential of an agent', async () => {
    await using site = await openConsentSite(notes, handoff);
    const jar = await signedIn(site, 'alice');
    const flow = new URL((await site.jar().open('/connect?tenant=acme')).location).searchParams.get('flow');
    const session = jar.cookies.list().find(({ name }) => name === 'kb_session')?.value ?? '';
    const response = await fetch(`${site.origin}/connect/handoff`, {
      method: 'POST',
      headers: {
        cookie: `kb_session=${session}`,
        authorization: `Bearer ${session}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ flow, principal: 'alice' }),
    });
    // As for a flow that never was: whose it is is not told.
    expect(response.status).toBe(404);
  });
});
