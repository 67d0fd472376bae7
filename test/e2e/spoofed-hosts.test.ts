// Our own addresses come from the public URL: nothing that a request says about hosts, schemes and paths changes a
// link, a document or a redirect URI (T9, T17).
import { afterAll, describe, expect, it } from 'vitest';
import { type Asked, createAsker } from '../support/ask.ts';
import { ELSEWHERE, EVIL } from '../support/elsewhere.ts';
import { useScene } from '../support/scene.ts';
import { signInWorld } from '../support/sign-in/sign-in-scene.ts';

const scene = useScene();
const asker = createAsker(() => scene.app.url);
afterAll(() => asker.close());

/** What fronts say, and what whoever is not behind one can say as well. */
const SPOOFED: Readonly<Record<string, string>> = {
  'x-forwarded-host': EVIL,
  'x-forwarded-server': EVIL,
  'x-forwarded-port': '666',
  'x-forwarded-proto': 'gopher',
  'x-forwarded-prefix': `/${EVIL}`,
  'x-forwarded-scheme': 'gopher',
  'x-host': EVIL,
  'x-original-host': EVIL,
  'x-original-url': `//${EVIL}/connect`,
  'x-rewrite-url': `//${EVIL}/connect`,
  'x-wap-profile': `http://${EVIL}`,
  forwarded: `for=1.2.3.4;host=${EVIL};proto=gopher`,
  'cf-connecting-ip': EVIL,
  'true-client-ip': EVIL,
  referer: `https://${EVIL}/`,
};

/** Host names that are let in, and are not the public one. */
const HOSTS = ['localhost', 'localhost:1', '127.0.0.1:2', '[::1]:3', 'LOCALHOST:4'];

const spoofs = (): readonly Readonly<Record<string, string>>[] => [
  SPOOFED,
  ...Object.entries(SPOOFED).map(([name, value]) => ({ [name]: value })),
  ...HOSTS.map((host) => ({ host })),
];

describe('T9: what is said about the host', () => {
  it('changes no document and no challenge', async () => {
    const tenant = await scene.tenant();
    const documents: readonly Asked[] = [
      { path: '/' },
      { path: '/.well-known/oauth-protected-resource' },
      { path: `/.well-known/oauth-protected-resource/t/${tenant.id}/mcp/notes` },
      { path: '/oauth/client-metadata.json' },
      { path: `/oauth/client-metadata/${'A'.repeat(22)}.json` },
      { path: '/connect' },
      { path: '/connect/done/x' },
      { method: 'POST', path: '/mcp', headers: { 'content-type': 'application/json' }, body: '{}' },
    ];
    for (const document of documents) {
      const plain = await asker.ask(document);
      const challenge = plain.headers['www-authenticate'];
      expect(`${plain.text}${challenge ?? ''}`, document.path).not.toBe('');
      for (const spoof of spoofs()) {
        const told = await asker.ask({ ...document, headers: { ...document.headers, ...spoof } });
        expect([told.status, told.text, told.headers['www-authenticate']], JSON.stringify(spoof)).toEqual([
          plain.status,
          plain.text,
          challenge,
        ]);
      }
    }
  });

  it('changes no link, and not where a person is sent from it and back', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const { app } = scene;
    const authorization = `Bearer ${app.adminKey}`;
    const body = JSON.stringify({ principal: 'ada' });
    let redirectUris = 0;
    for (const spoof of [{}, SPOOFED, { host: 'localhost:1' }]) {
      const made = await asker.ask({
        method: 'POST',
        path: `/admin/v1/tenants/${tenant.id}/connect-links`,
        headers: { authorization, 'content-type': 'application/json', ...spoof },
        body,
      });
      const { url } = JSON.parse(made.text) as { url: string };
      expect(new URL(url).origin).toBe(app.url);
      const { pathname } = new URL(url);
      const page = await asker.ask({ path: pathname, headers: spoof });
      expect(page.status).toBe(200);
      expect(page.text).not.toContain(EVIL);
      expect(page.text).not.toContain('localhost:1');
      const shown = /name="shown" value="([^"]*)"/.exec(page.text)?.[1] ?? '';
      const going = await asker.ask({
        method: 'POST',
        path: pathname,
        headers: { ...spoof, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ shown }).toString(),
      });
      const onward = new URL(going.headers.location ?? '');
      expect(onward.origin).toBe(new URL(as.issuer).origin);
      const redirectUri = onward.searchParams.get('redirect_uri') ?? '';
      expect(redirectUri.replace(/[A-Za-z0-9_-]{22}$/, '')).toBe(`${app.url}/oauth/callback/`);
      redirectUris++;
    }
    expect(redirectUris).toBe(3);
  });

  it('returnTo of a link is refused or leads nowhere', async () => {
    const { tenant } = await signInWorld(scene, 'modern');
    const headers = { authorization: `Bearer ${scene.app.adminKey}`, 'content-type': 'application/json' };
    let refused = 0;
    for (const [number, returnTo] of ELSEWHERE.entries()) {
      const path = `/admin/v1/tenants/${tenant.id}/connect-links`;
      const body = JSON.stringify({ principal: `person-${number}`, returnTo });
      const made = await asker.ask({ method: 'POST', path, headers, body });
      if (made.status !== 201) {
        expect([400, 422], returnTo).toContain(made.status);
        refused++;
        continue;
      }
      expect(returnTo, 'only https may stand there').toMatch(/^https:\/\/[^\\\s]+$/i);
      const { url } = JSON.parse(made.text) as { url: string };
      expect(new URL(url).origin).toBe(scene.app.url);
      const page = await asker.ask({ path: new URL(url).pathname });
      expect(page.text).not.toContain(EVIL);
    }
    expect(refused).toBeGreaterThan(45);
  });
});

describe('T9: paths that are read in two ways', () => {
  it.each([
    `//${EVIL}`,
    `//${EVIL}/connect`,
    `///${EVIL}`,
    `/\\${EVIL}`,
    `/%5c${EVIL}`,
    `/%2f%2f${EVIL}`,
    '/%2e%2e',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%2f..%2fetc/passwd',
    '/connect/..;/',
    '/connect/..;/admin/v1/tenants',
    '/connect/%2e%2e/admin/v1/tenants',
    '/connect/../admin/v1/tenants',
    '/connect%2f..%2fadmin',
    '/connect//',
    '/connect/./',
    `/connect/${EVIL}`,
    `/connect/https://${EVIL}`,
    `/connect/https:%2f%2f${EVIL}`,
    `/connect;//${EVIL}`,
    `/connect?//${EVIL}`,
    `/connect/%0d%0aLocation:%20https://${EVIL}`,
    `/connect/%00//${EVIL}`,
    `/connections/..//${EVIL}`,
    `/connect/return/..//${EVIL}?code=x`,
    `/connect/callback/..%2f..%2f${EVIL}?state=x`,
    `/oauth/callback/..%2f..%2f${EVIL}?state=x`,
    `/oauth/callback//${EVIL}?state=x`,
    `/connect/done/..%2f${EVIL}`,
    `/CONNECT/${EVIL}`,
    '/admin/v1/..;/tenants',
    '/admin/v1//tenants',
    '/admin//v1/tenants',
    '/ADMIN/V1/tenants',
    `http://${EVIL}/connect`,
    `http://${EVIL}/admin/v1/tenants`,
    `https://${EVIL}//connect`,
    '*',
  ])('%s leads nowhere', async (path) => {
    const told = await asker.ask({ path });
    expect(told.status).toBeGreaterThanOrEqual(400);
    expect(told.status).toBeLessThan(500);
    expect([told.headers.location, told.headers['refresh']]).toEqual([undefined, undefined]);
    expect(told.headers['set-cookie']).toBeUndefined();
    expect(told.text).not.toContain(EVIL);
    expect(told.text).not.toMatch(/node_modules|root:|at .*:\d+:\d+/);
  });
});
