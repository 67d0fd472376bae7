// Before the first sign-in, and after the last: what waits is not down, and what was ended is used no more.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { type Agent, textOf } from '../support/agents/agent.ts';
import { ERAS, useScene } from '../support/scene.ts';
import type { AnswerHook } from '../support/sign-in/as-options.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { signIn, signInWorld, withOauth } from '../support/sign-in/sign-in-scene.ts';
import { within } from '../support/within.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();
const ASKED = { structuredContent: { error: 'sign_in_required' } };
const namesIn = async (agent: Agent): Promise<readonly string[]> =>
  (await agent.listTools()).tools.map(({ name }) => name);

describe.each(ERAS)('a %s server that answers 401 to everything', (era) => {
  it('waits for its person: it is not down, is not tried again and again, and comes with list_changed (B098, B181)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, era);
    const node = await scene.node();
    const side = scene.side(tenant.id, tenant.key, node);
    const [ada, bob] = [await side.raw('rawModern', 'ada'), await side.raw('rawModern', 'bob')];
    for (let n = 0; n < 3; n++) expect(await namesIn(ada)).toEqual(['notes__connect']);
    expect(mcp.seen, 'nobody knocks without a key').toEqual([]);
    expect((await side.status('notes'))['status']).toBe('sign_in_required');
    expect(node.lines.filter((line) => /"level":(?:40|50|60)/.test(line))).toEqual([]);
    let hear: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => (hear = resolve));
    await bob.onListChanged(() => hear());
    await signIn({ as }, ada);
    await within(heard, 'list_changed', 5_000);
    expect(await namesIn(bob)).toContain('notes__whoami');
  });

  it('from the first call on is signed in to and renewed (B177)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, era, { mcp: { tokenNeededAt: ['call'] } });
    const ada = await tenant.raw('rawModern', 'ada');
    const bob = await tenant.raw('rawModern', 'bob');
    await signIn({ as }, ada);
    expect(await bob.callTool('notes__whoami')).toMatchObject(ASKED);
    await signIn({ as }, bob, 'bob');
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    as.expireAll();
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    expect(as.seen.token.filter(({ params }) => params['grant_type'] === 'refresh_token')).toHaveLength(1);
    expect(mcp.seen.filter(({ status, place }) => status === 401 && place === 'call')).toHaveLength(1);
  });
});

describe('two servers of one issuer (B166, B223)', () => {
  it('share no grant: who connected one is asked for the other, and nobody is given another’s', async () => {
    const { as, mcp, tenant, agent } = await aGrantedPerson(scene, 'modern', 'rawModern');
    const second = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
    await tenant.put('more', withOauth(second));
    await agent.callTool('notes__whoami');
    expect(await namesIn(agent)).toContain('more__connect');
    const bob = await tenant.raw('rawModern', 'bob');
    for (const name of ['bob', 'Ada', 'ada\u0301', 'a\u0064a ']) {
      bob.headers = { ...bob.headers, 'keybearer-principal': encodeURIComponent(name) };
      expect(await bob.callTool('notes__whoami')).toMatchObject(ASKED);
    }
    expect(second.tokens).toEqual([]);
    expect(new Set(mcp.seen.flatMap(({ subject }) => subject ?? []))).toEqual(new Set(['ada']));
  });
});

describe('a disconnect', () => {
  const disconnect = (tenantId: string) =>
    scene.app.adminOk('DELETE', `/tenants/${tenantId}/servers/notes/credentials/ada`);

  it.each<[string, AnswerHook]>([
    [
      'does not revoke access tokens',
      async ({ params }, work) =>
        params['token_type_hint'] === 'access_token'
          ? { status: 400, body: { error: 'unsupported_token_type' } }
          : work(),
    ],
    ['is down', async () => ({ status: 503 })],
    ['hangs', () => new Promise(() => undefined)],
  ])('from a server that %s ends all use at once, and the refresh token goes first (B213)', async (_, hook) => {
    const { as, mcp, agent, tenant, accessToken, refreshToken } = await aGrantedPerson(scene, 'modern', 'rawModern');
    await agent.callTool('notes__whoami');
    as.always('revoke', hook);
    await disconnect(tenant.id);
    const before = mcp.seen.length;
    expect(await agent.callTool('notes__whoami')).toMatchObject(ASKED);
    await as.until(() => as.seen.revoke.length === 2);
    expect(as.seen.revoke.map(({ params }) => params['token'])).toEqual([refreshToken, accessToken]);
    expect(mcp.seen.slice(before)).toEqual([]);
  });

  it('from a server without such an endpoint is one here (B213)', async () => {
    const metadata = { revocation_endpoint: undefined };
    const { as, agent, tenant } = await aGrantedPerson(scene, 'modern', 'rawModern', { as: { metadata } });
    await agent.callTool('notes__whoami');
    await disconnect(tenant.id);
    expect(await agent.callTool('notes__whoami')).toMatchObject(ASKED);
    expect(as.seen.revoke).toEqual([]);
  });

  it('and another account: it is used on both nodes at once, over no connection of the old one (B215)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'legacy');
    const agent = await tenant.raw('rawModern', 'ada');
    const node = await scene.node({ http: { publicUrl: scene.app.url } });
    const other = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    await signIn({ as }, agent);
    const sessionOf = async (one: Agent, who: string) => {
      const text = textOf(await one.callTool('notes__whoami'));
      expect(text.startsWith(`who=${who};`), text).toBe(true);
      return /session=([^;]*)/.exec(text)?.[1] ?? '';
    };
    await eventually('the other node to know it', async () => (await namesIn(other)).includes('notes__whoami'));
    const old = [await sessionOf(agent, 'ada'), await sessionOf(other, 'ada')];
    const [oldTokens, before] = [[...mcp.tokens], mcp.seen.length];
    await disconnect(tenant.id);
    await signIn({ as }, agent, 'ada-at-work');
    for (const one of [agent, other]) expect(old).not.toContain(await sessionOf(one, 'ada-at-work'));
    const called = mcp.seen.slice(before).filter(({ place }) => place === 'call');
    expect(called).toHaveLength(2);
    for (const { token } of called) expect(oldTokens).not.toContain(token);
  });

  it('and another scope of the admin: the new consent asks for it, and nothing old is used (B216)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern', { oauth: { scopes: ['read', 'left-over'] } });
    const agent = await tenant.raw('rawModern', 'ada');
    await signIn({ as }, agent);
    const oldTokens = [...as.accessTokens];
    await disconnect(tenant.id);
    await tenant.put('notes', withOauth(mcp, { scopes: ['read', 'write'] }));
    await signIn({ as }, agent);
    expect(as.seen.authorize.map(({ params }) => params['scope'])).toEqual(['read left-over', 'read write']);
    const before = mcp.seen.length;
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    const used = mcp.seen.slice(before).flatMap(({ token }) => token ?? []);
    for (const token of used) {
      expect((await as.check(token))?.scopes).toEqual(['read', 'write']);
      expect(oldTokens).not.toContain(token);
    }
    expect(used.length).toBeGreaterThan(0);
  });
});
