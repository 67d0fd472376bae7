// How real servers and sign-in servers publish what they publish: people sign in all the same, or their admin reads
// what to set.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import type { GuardSettings } from '../support/sign-in/guard-options.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { confirm, linkFrom, type SignInWishes, signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';

const scene = useScene();

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
type Change = (mcpUrl: string) => Partial<GuardSettings>;
const at = (url: string, path: string): string => new URL(path, url).href;
const said = (text: string): Partial<GuardSettings> => ({ challenge: { text } });

describe('a server whose people sign in', () => {
  it.each<[string, Change, SignInWishes?]>([
    ['says no more than "Bearer" and has its document at its path (B136)', () => ({ challenge: 'bare' })],
    ['has its document at the root only (B136)', () => ({ challenge: 'bare', metadataAt: ['root'] })],
    ['names an address where nothing is (B136)', (url) => said(`Bearer resource_metadata="${at(url, '/nowhere')}"`)],
    [
      'has an issuer with a path, published behind it (B138)',
      () => ({}),
      {
        as: { issuerPath: '/realms/r1', metadataAt: ['oidc-appended'] },
      },
    ],
    ['has an issuer with a path, published before it (B138)', () => ({}), { as: { issuerPath: '/realms/r1' } }],
    [
      'names two addresses, of which the second is right (B142)',
      (url) =>
        said(`Bearer resource_metadata="${at(url, '/nowhere')}", resource_metadata="${at(url, `${WELL_KNOWN}/mcp`)}"`),
    ],
    [
      'writes its challenge loosely (B144)',
      (url) => said(`bearer  realm=x ,resource_metadata = ${at(url, `${WELL_KNOWN}/mcp`)}`),
    ],
    ['writes a relative address (B144)', () => said(`Bearer resource_metadata="${WELL_KNOWN}/mcp"`)],
    ['names an address that is none (B144)', () => said(`Bearer resource_metadata="javascript:alert(1)"`)],
  ])('%s', async (_, change, wishes = {}) => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern', wishes);
    Object.assign(mcp.settings, change(mcp.url));
    const ada = await tenant.raw('rawModern', 'ada');
    await signIn({ as }, ada);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.token).toHaveLength(1);
  });

  it('names a document on another host: nobody asks there (B240)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern');
    const evil = await scene.keep(startScriptedAs());
    const other = await scene.keep(startGuardedMcp({ era: 'modern', tokens: evil }));
    // It would even say that it is about this server.
    Object.assign(other.settings, { metadata: { resource: mcp.url } });
    Object.assign(mcp.settings, said(`Bearer resource_metadata="${at(other.url, `${WELL_KNOWN}/mcp`)}"`));
    await signIn({ as }, await tenant.raw('rawModern', 'ada'));
    expect(other.metadataReads).toBe(0);
    expect(Object.values(evil.seen).flat()).toEqual([]);
  });

  it.each([
    ['as its address', (url: string) => url],
    ['with a slash at the end', (url: string) => `${url}/`],
    ['as its origin', (url: string) => new URL(url).origin],
    ['as its origin with a slash', (url: string) => `${new URL(url).origin}/`],
  ])('writes its resource %s, and every request carries just that (B145)', async (_, write) => {
    const { as, mcp, tenant } = await signInWorld(scene, 'legacy', { mcp: { checksAudience: false } });
    const resource = write(mcp.url);
    Object.assign(mcp.settings, { metadata: { resource } });
    const ada = await tenant.raw('rawLegacy', 'ada');
    await signIn({ as }, ada);
    as.expireAll();
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.authorize.map(({ params }) => params['resource'])).toEqual([resource]);
    expect(as.seen.token.map(({ params }) => [params['grant_type'], params['resource']])).toEqual([
      ['authorization_code', resource],
      ['refresh_token', resource],
    ]);
  });

  it.each([
    ['is asked for what lasts where that is offered (B175)', ['notes', 'offline_access'], true],
    ['is not asked for it where it is unknown (B176)', ['notes'], false],
  ])('%s', async (_, known, isAsked) => {
    const { as, tenant } = await signInWorld(scene, 'modern', { as: { metadata: { scopes_supported: known } } });
    await signIn({ as }, await tenant.raw('rawModern', 'ada'));
    const { scope, prompt } = as.seen.authorize[0]?.params ?? {};
    expect((scope ?? '').split(' ').includes('offline_access')).toBe(isAsked);
    expect(prompt).toBe(isAsked ? 'consent' : undefined);
  });

  it('that are given nothing to renew with are shown as such to the admin (B175)', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern', { as: { refreshTokens: false } });
    await signIn({ as }, await tenant.raw('rawModern', 'ada'));
    const { items } = await scene.app.adminOk('GET', `/tenants/${tenant.id}/credentials`);
    expect(items).toMatchObject([{ principal: 'ada', kind: 'oauth', renewable: false }]);
  });
});

describe('a server whose people cannot sign in yet', () => {
  const problemOf = async (wishes: SignInWishes, isAgreed: boolean) => {
    const world = await signInWorld(scene, 'modern', wishes);
    const link = await linkFrom(await world.tenant.raw('rawModern', 'ada'));
    const open = () => (isAgreed ? confirm(link, new Browser()) : new Browser().open(link));
    return { ...world, pages: [await open(), await open()] };
  };

  it('offers nothing that can be found: the page says what an admin can set (B140)', async () => {
    const { as, pages } = await problemOf({ mcp: { metadataAt: [], challenge: 'bare' } }, false);
    for (const { status, text } of pages) {
      expect(status).toBe(502);
      expect(text).toContain('offers no sign-in');
      expect(text).toContain('authorizationEndpoint');
    }
    expect(as.seen.metadata).toEqual([]);
  });

  it.each([
    [401, 'invalid_token'],
    [403, 'access_denied'],
    [400, 'invalid_client_metadata'],
    [404, 'not_found'],
  ])(
    'refuses registrations with %i: the page says what to set, and nobody asks again at once (B149)',
    async (status, error) => {
      const { as, pages } = await problemOf({ as: { register: { kind: 'refuse', status, error } } }, true);
      for (const page of pages) {
        expect(page.status).toBe(502);
        for (const word of ['clientId', 'clientSecret', 'initialAccessToken']) expect(page.text).toContain(word);
      }
      expect(as.seen.register).toHaveLength(1);
      expect(as.seen.authorize).toEqual([]);
    },
  );
});
