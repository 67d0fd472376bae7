// Whatever kind of credential a server has, what is beside tools is asked for with it as calls are: a grant is renewed
// once and the request tried once more; a tenant's own key serves everybody.
import { describe, expect, it } from 'vitest';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, useScene } from '../support/scene.ts';
import type { GuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();
const ASKED = [
  ['prompts/get', { name: 'notes__greet' }],
  ['resources/read', { uri: 'file:///docs/readme.md' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'notes__greet' }, argument: { name: 'who', value: '' } }],
] as const;
const tries = ({ seen }: GuardedMcp, asked: string): number => seen.filter(({ method }) => method === asked).length;

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it.each(ASKED)(
    '%s after a refusal: one renewal, one more try, and the agent notices nothing',
    async (method, params) => {
      const { as, mcp, agent } = await aGrantedPerson(scene, era, kind);
      expect(saidIn(await agent.request(method, params))).toMatch(/^who=ada;/);
      as.expireAll();
      const [tokens, before] = [as.seen.token.length, tries(mcp, method)];
      expect(saidIn(await agent.request(method, params))).toMatch(/^who=ada;/);
      expect(as.seen.token.length - tokens).toBe(1);
      expect(tries(mcp, method) - before).toBeLessThanOrEqual(2);
      expect(as.revocations).toBe(0);
    },
  );

  it('lists after a refusal are renewed once, however many are asked for', async () => {
    const { as, agent } = await aGrantedPerson(scene, era, kind);
    await agent.listTools();
    as.expireAll();
    const tokens = as.seen.token.length;
    const lists = await Promise.all([...LISTS, ...LISTS, ...LISTS].map((list) => keysOf(agent, list)));
    for (const list of lists) expect(list).not.toEqual([]);
    expect(as.seen.token.length - tokens).toBe(1);
    expect(as.revocations).toBe(0);
  });

  it.each(ASKED)('%s refused again asks the person, and never tries a third time', async (method, params) => {
    const { as, mcp, agent } = await aGrantedPerson(scene, era, kind);
    await agent.request(method, params);
    Object.assign(mcp.settings, { refusedAt: ['other'] });
    const [tokens, before] = [as.seen.token.length, tries(mcp, method)];
    await expect(agent.request(method, params)).rejects.toMatchObject({
      code: 403,
      data: { error: 'sign_in_required', server: 'notes', url: expect.any(String) },
    });
    expect(tries(mcp, method) - before).toBe(2);
    expect(as.seen.token.length - tokens).toBe(1);
  });

  it("a tenant's own key serves all its people, and nobody of another tenant", async () => {
    const upstream = await scene.offering(era, { keys: [['key-of-all', 'all']] });
    const definition = { url: upstream.url, credential: { owner: 'tenant', kind: 'secret' } };
    const [tenant, other] = [await scene.tenant({ notes: definition }), await scene.tenant({ notes: definition })];
    await scene.app.adminOk('PUT', `/tenants/${tenant.id}/servers/notes/credential`, { secret: 'key-of-all' });
    for (const who of ['ada', 'bob']) {
      const agent = await tenant.raw(kind, who);
      expect(await keysOf(agent, LISTS[0])).toEqual(['notes__greet']);
      for (const [method, params] of ASKED) expect(saidIn(await agent.request(method, params))).toMatch(/^who=all;/);
    }
    const before = upstream.seen.length;
    const stranger = await other.raw(kind, 'ada');
    for (const list of LISTS) expect(await keysOf(stranger, list)).toEqual([]);
    for (const [method, params] of ASKED)
      expect(await (await stranger.send(method, params)).answer()).toHaveProperty('error.code');
    expect(upstream.seen.slice(before).filter(({ principal }) => principal !== undefined)).toEqual([]);
  });
});
