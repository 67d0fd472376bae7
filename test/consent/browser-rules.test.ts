import { describe, expect, it } from 'vitest';
import { isOwnPost } from '../../src/consent/browser-rules.ts';
import { html } from '../../src/consent/html.ts';
import { aServer } from '../credential/in-memory.ts';
import { openConsentSite } from './a-consent-site.ts';

describe('every page', () => {
  it('T25: carries the strict headers, whatever it says', async () => {
    await using site = await openConsentSite(aServer());
    const link = await site.link();
    const big = 'x'.repeat(20_000);
    const answers = [
      await site.get(link),
      await site.post(link, ''),
      await site.get('/connect/unknown'),
      await site.get('/connect/%E0%A4%A'),
      await site.post(link, big),
      await site.post(link, 'key', { origin: 'https://evil.example' }),
      await site.post(link, 'key'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 422, 410, 400, 413, 403, 200]);
    for (const { headers } of answers) {
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('strict-transport-security'), 'meaningless over http').toBeNull();
    }
    expect(answers.map(({ headers }) => headers.has('set-cookie'))).toEqual([...Array<boolean>(6).fill(false), true]);
  });

  it('has no script, no inline style, and a stylesheet that is there', async () => {
    await using site = await openConsentSite(aServer());
    const page = await (await site.get(await site.link())).text();
    expect(page).not.toMatch(/<script|style=|<style|\son\w+=/i);
    const sheet = await site.get('/connect.css');
    expect(page).toContain('href="/connect.css"');
    expect([sheet.status, sheet.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
  });

  it('leaves other addresses to others', async () => {
    await using site = await openConsentSite(aServer());
    for (const path of [
      '/mcp',
      '/oauth',
      '/oauth/jwks.json',
      '/oauth/client-metadata.json',
      '/CONNECT',
      '/connect/a/b',
    ])
      expect((await site.get(path)).status, path).toBe(404);
  });
});

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '&lt;b&gt;',
  '`${x}`',
  '</title><svg/onload=1>',
  'javascript:alert(1)',
];

describe('names that are code', () => {
  it.each(HOSTILE)('B164: %s stays text wherever an admin or an agent put it', async (hostile) => {
    const server = { ...aServer(), title: hostile, description: hostile };
    const credential =
      server.credential === undefined ? undefined : { ...server.credential, label: hostile, help: hostile };
    await using site = await openConsentSite(
      { ...server, credential },
      { tenant: { name: hostile }, tryKey: async () => ({ ok: false, reason: hostile }) },
    );
    const link = await site.link(hostile);
    const connected = await openConsentSite({ ...server, credential });
    await using _closing = connected;
    for (const response of [
      await site.get(link),
      await site.post(link, 'key'),
      await connected.post(await connected.link(), 'key'),
    ]) {
      const page = await response.text();
      expect(page).not.toMatch(/<(?:script|img|svg|b)\b/i);
      expect(page.match(/<[^>]*>/g)?.join('')).not.toMatch(/alert\(|onerror|onfocus|javascript:/);
      expect(page).toContain(String(html`${hostile}`));
    }
  });

  it('B164: escapes what ends a text or an attribute, and drops control characters', () => {
    expect(String(html`<a title="${`a"'<>&\`\u0000\u0007b`}">${[html`<i>`, '<i>', undefined]}</a>`)).toBe(
      '<a title="a&quot;&#39;&lt;&gt;&amp;&#96;b"><i>&lt;i&gt;</a>',
    );
  });

  it.each(['http://notes.example/help', 'javascript:alert(1)', 'data:text/html,x', 'ftp://x'])(
    'never links to %s',
    async (help) => {
      const server = aServer();
      const credential = server.credential === undefined ? undefined : { ...server.credential, help };
      await using site = await openConsentSite({ ...server, credential });
      expect(await (await site.get(await site.link())).text()).not.toContain('href="' + help);
    },
  );
});

describe('a post from another site', () => {
  const loopback = 'http://127.0.0.1:8080';
  const open = 'https://px.test/keys';
  const lan = 'http://10.0.0.7:8080';

  it.each([
    [loopback, undefined, undefined],
    [loopback, 'http://127.0.0.1:8080', 'same-origin'],
    [loopback, 'http://localhost:8080', undefined],
    [loopback, 'http://[::1]:8080', 'none'],
    [loopback, 'null', 'same-origin'],
    [open, 'https://px.test', 'same-origin'],
    [open, 'null', 'same-origin'],
    [lan, 'null', undefined],
  ])('T25: %s takes Origin %s with Sec-Fetch-Site %s', (publicUrl, origin, secFetchSite) => {
    expect(isOwnPost({ origin, secFetchSite }, publicUrl)).toBe(true);
  });

  it.each([
    [loopback, undefined, 'cross-site'],
    [loopback, undefined, 'same-site'],
    [loopback, 'http://127.0.0.1:8080', 'cross-site'],
    [loopback, 'http://127.0.0.1:9090', undefined],
    [loopback, 'https://localhost:8080', undefined],
    [loopback, 'http://localhost.evil.example:8080', undefined],
    [loopback, 'http://127.0.0.1.evil.example:8080', undefined],
    [loopback, 'null', undefined],
    [open, 'https://evil.example', undefined],
    [open, 'http://px.test', undefined],
    [open, 'http://localhost', undefined],
    [open, 'null', undefined],
    [open, 'null', 'cross-site'],
    [lan, 'null', 'cross-site'],
    [lan, 'not a url', undefined],
  ])('T25: %s refuses Origin %s with Sec-Fetch-Site %s', (publicUrl, origin, secFetchSite) => {
    expect(isOwnPost({ origin, secFetchSite }, publicUrl)).toBe(false);
  });

  it('T25: changes nothing', async () => {
    await using site = await openConsentSite(aServer());
    const link = await site.link();
    expect((await site.post(link, 'evil', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect(site.done).toEqual([]);
    expect((await site.get(link)).status).toBe(200);
  });
});
