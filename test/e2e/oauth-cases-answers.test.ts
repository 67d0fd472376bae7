// Token endpoints that answer in ways of their own, from the first code to the last renewal.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import type { AnswerHook, AsAnswer } from '../support/sign-in/as-options.ts';
import { confirm, linkFrom, signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

const answers =
  (body: JsonObject | string, status = 200): AnswerHook =>
  async () => ({ status, body });
/** The server's own answer with other members. */
const altered =
  (change: (body: JsonObject) => JsonObject): AnswerHook =>
  async (_request, work) => {
    const answer: AsAnswer = await work();
    return typeof answer.body === 'object' ? { ...answer, body: change(answer.body) } : answer;
  };

describe('an answer to a code', () => {
  it.each<[string, AnswerHook]>([
    ['an error with status 200', answers({ error: 'bad_verification_code', error_description: '<b>secret-9</b>' })],
    ['an error beside an old token', answers({ error: 'bad_verification_code', access_token: 'stale' })],
    ['no token', answers({ token_type: 'Bearer', scope: 'x' })],
    ['"ok": false', answers({ ok: false, error: 'bad_verification_code' })],
    ['nothing at all', answers('', 204)],
  ])('that has %s is a failure: the page says so, and nothing is kept (B202, B204)', async (_, hook) => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    as.once('token', hook);
    const page = await confirm(await linkFrom(ada));
    expect(page.text).not.toContain('<title>Connected</title>');
    expect(page.text).toContain('The sign-in server refused');
    expect(page.text).not.toContain('secret-9');
    expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
    expect(as.seen.token).toHaveLength(1);
    // The link is good for another try.
    await signIn({ as }, ada);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('with a token inside another object means the outer one, from the first answer to the last (B204, B205)', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    const inner = { access_token: 'inner-user-token', scope: 'inner', expires_in: 1 };
    as.once(
      'token',
      altered((body) => ({ ok: true, ...body, authed_user: inner, token_type: 'user' })),
    );
    await signIn({ as }, ada);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    as.expireAll();
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    as.expireAll();
    as.once(
      'token',
      altered((body) => ({ ok: true, ...body, authed_user: inner })),
    );
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(mcp.tokens).not.toContain('inner-user-token');
    expect(as.seen.token).toHaveLength(3);
  });
});

describe('a lifetime', () => {
  it.each(['3600', '3600abc', 1e12, 3600.7, true, null, undefined])(
    'of %j asks for nothing while the token is good, and is renewed once when it is refused (B192, B193)',
    async (accessTokenLifeS) => {
      const { as, tenant } = await signInWorld(scene, 'modern', { as: { accessTokenLifeS, rotation: 'strict' } });
      const ada = await tenant.raw('rawModern', 'ada');
      await signIn({ as }, ada);
      for (let n = 0; n < 3; n++) expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
      expect(as.seen.token).toHaveLength(1);
      as.expireAll();
      expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
      expect(as.seen.token).toHaveLength(2);
    },
  );

  it.each([0, -1, '0'])('of %j is renewed before each use, and once for a call (B193)', async (accessTokenLifeS) => {
    const { as, tenant } = await signInWorld(scene, 'modern', { as: { accessTokenLifeS, rotation: 'strict' } });
    const ada = await tenant.raw('rawModern', 'ada');
    await signIn({ as }, ada);
    await ada.callTool('notes__whoami');
    for (let n = 0; n < 3; n++) {
      const before = as.seen.token.length;
      expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
      expect(as.seen.token.length - before).toBe(1);
    }
    expect(as.revocations).toBe(0);
  });
});

describe('an answer to a renewal', () => {
  it.each<[string, JsonObject]>([
    ['no refresh token and no scope', { refresh_token: undefined, scope: undefined }],
    ['null for both', { refresh_token: null, scope: null }],
    ['empty texts for both', { refresh_token: '', scope: '' }],
  ])('that has %s leaves the old ones, and the next renewal works (B190)', async (_, members) => {
    const { as, agent, tenant, refreshToken } = await aGrantedPerson(scene, 'modern', 'rawLegacy', {
      as: { rotation: 'none' },
      tokens: { scopes: ['read'] },
    });
    as.always(
      'token',
      altered((body) => ({ ...body, ...members })),
    );
    for (let n = 0; n < 2; n++) {
      as.expireAll();
      await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
      expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    }
    expect(as.seen.token.map(({ params }) => params['refresh_token'])).toEqual([refreshToken, refreshToken]);
    const { items } = await scene.app.adminOk('GET', `/tenants/${tenant.id}/credentials`);
    expect(items).toMatchObject([{ scopes: ['read'], renewable: true }]);
  });

  it.each<[string, AsAnswer]>([
    ['400 invalid_request', { status: 400, body: { error: 'invalid_request', error_description: 'unknown token' } }],
    ['401 invalid_token', { status: 401, body: { error: 'invalid_token' } }],
    ['200 with an error', { status: 200, body: { error: 'token_is_gone' } }],
  ])(
    'that is %s is believed when it comes again: then the person is asked, and the old grant stays (B197)',
    async (_, answer) => {
      const { as, agent, tenant } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
      await agent.callTool('notes__whoami');
      as.always('token', async () => answer);
      as.expireAll();
      const errorOf = async () => (await agent.callTool('notes__whoami'))['structuredContent'];
      expect(await errorOf()).toMatchObject({ error: 'upstream_unavailable' });
      expect(await errorOf(), 'not asked again before its time').toMatchObject({ error: 'upstream_unavailable' });
      expect(as.seen.token).toHaveLength(1);
      // As the clock would.
      await scene.app.sql('UPDATE renewals SET retry_at = NULL');
      expect(await errorOf()).toMatchObject({ error: 'sign_in_required' });
      expect(as.seen.token).toHaveLength(2);
      expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toHaveLength(1);
    },
  );
});
