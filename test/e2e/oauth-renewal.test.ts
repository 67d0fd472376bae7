// A grant is renewed ahead of its end and after a refusal, once, and never lost (contract §6.5).
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { ERAS, PAIRINGS, useScene } from '../support/scene.ts';
import type { McpPlace } from '../support/sign-in/guard-options.ts';
import type { GuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { refuses } from '../support/sign-in/scripted-as.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

const calls = ({ seen }: GuardedMcp) => seen.filter(({ place }) => place === 'call');
const refusedAt = ({ seen }: GuardedMcp) => seen.filter(({ status }) => status === 401 || status === 403).length;

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('B201: renews a token that is due before it is sent', async () => {
    const { as, mcp, agent, accessToken } = await aGrantedPerson(scene, era, kind, { tokens: { expiresIn: 0 } });
    const before = mcp.seen.length;
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(mcp.seen.slice(before).filter(({ token }) => token === accessToken)).toEqual([]);
    expect(as.seen.token.filter(({ params }) => params['grant_type'] === 'refresh_token').length).toBeGreaterThan(0);
    expect(as.seen.token.every(({ params }) => params['resource'] === mcp.url)).toBe(true);
    expect(as.revocations).toBe(0);
  });

  it('B182: renews once after a refusal and tries once more, and the agent notices nothing', async () => {
    const { as, mcp, agent } = await aGrantedPerson(scene, era, kind);
    await agent.callTool('notes__whoami');
    as.expireAll();
    const [tokensBefore, callsBefore] = [as.seen.token.length, calls(mcp).length];
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.token.length - tokensBefore).toBe(1);
    expect(calls(mcp).length - callsBefore).toBeLessThanOrEqual(2);
    expect(as.revocations).toBe(0);
  });

  it('T10: asks the person after a second refusal, never tries a third time, and renews once in half a minute', async () => {
    const { as, mcp, agent } = await aGrantedPerson(scene, era, kind);
    await agent.callTool('notes__whoami');
    Object.assign(mcp.settings, { refusedAt: ['call'] satisfies McpPlace[] });
    const tokensBefore = as.seen.token.length;
    for (let n = 0; n < 5; n++) {
      const before = refusedAt(mcp);
      const result = await agent.callTool('notes__whoami');
      expect(result).toMatchObject({ isError: true, structuredContent: { error: 'sign_in_required' } });
      expect(refusedAt(mcp) - before).toBe(n === 0 ? 2 : 1);
    }
    expect(as.seen.token.length - tokensBefore).toBe(1);
  });

  it('B194: asks for nothing while a token without a refresh token is good, and once it is not asks the person', async () => {
    const { as, agent } = await aGrantedPerson(scene, era, kind, { tokens: { withoutRefresh: true } });
    for (let n = 0; n < 3; n++) expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    as.expireAll();
    expect(await agent.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(as.seen.token).toEqual([]);
  });
});

describe.each(ERAS)('over a %s server', (era) => {
  it.each(['greet', 'list', 'call'] as const)('B177: a refusal at %s alone is enough to renew', async (place) => {
    const needed = { tokenNeededAt: [place] };
    const { as, tenant } = await aGrantedPerson(scene, era, 'rawLegacy', {
      mcp: needed,
      tokens: { expiresIn: undefined },
    });
    as.expireAll();
    // A new person's agent and a node of its own: nothing is warm.
    const node = await scene.node();
    const agent = await scene.side(tenant.id, tenant.key, node).raw('rawLegacy', 'ada');
    await agent.listTools();
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=/);
    expect(as.revocations).toBe(0);
  });

  it('B182: fifty calls over two nodes across the end of a token cost one renewal', async () => {
    const { as, agent, tenant, importTokens } = await aGrantedPerson(scene, era, 'rawModern');
    const node = await scene.node();
    const other = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    await Promise.all([agent, other].map((one) => one.callTool('notes__whoami')));
    await importTokens({ expiresIn: 0 });
    const before = as.seen.token.length;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? agent : other).callTool('notes__whoami')),
    );
    expect(new Set(answers.map((answer) => textOf(answer).slice(0, 8)))).toEqual(new Set(['who=ada;']));
    expect(as.seen.token.length - before).toBeLessThanOrEqual(1);
    expect(as.revocations).toBe(0);
  });

  it('B182: fifty refused calls over two nodes cost one renewal', async () => {
    const { as, agent, tenant } = await aGrantedPerson(scene, era, 'rawModern');
    const node = await scene.node();
    const other = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    await Promise.all([agent, other].map((one) => one.callTool('notes__whoami')));
    as.expireAll();
    const before = as.seen.token.length;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? agent : other).callTool('notes__whoami')),
    );
    expect(new Set(answers.map((answer) => textOf(answer).slice(0, 8)))).toEqual(new Set(['who=ada;']));
    expect(as.seen.token.length - before).toBe(1);
    expect(as.revocations).toBe(0);
  });

  it.each([
    ['500', refuses('server_error', 500)],
    ['503 that asks to wait', refuses('temporarily_unavailable', 503, { 'retry-after': '1' })],
    ['429', async () => ({ status: 429, headers: { 'retry-after': '1' } })],
    ['garbage', async () => ({ status: 200, body: '<html>maintenance</html>' })],
    ['400 without an OAuth error', async () => ({ status: 400, body: 'bad' })],
    ['nothing: the socket is dropped', async () => 'drop' as const],
  ] as const)('B195: a token endpoint that answers %s loses no grant', async (_, hook) => {
    const { as, agent, importTokens } = await aGrantedPerson(scene, era, 'rawLegacy');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    as.always('token', hook);
    const result = await agent.callTool('notes__whoami');
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: 'upstream_unavailable', retryAfterMs: expect.any(Number) },
    });
    as.always('token', undefined);
    // As the clock would.
    await scene.app.sql('UPDATE renewals SET retry_at = NULL');
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.revocations).toBe(0);
  });

  it('B187: a caller that leaves in the middle takes no renewal with it', async () => {
    const { as, agent, importTokens } = await aGrantedPerson(scene, era, 'rawModern');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    const before = as.seen.token.length;
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    as.always('token', async (_request, work) => {
      const answer = await work();
      await held;
      return answer;
    });
    const leaving = new AbortController();
    const left = agent.callTool('notes__whoami', {}, { signal: leaving.signal }).catch(() => 'left');
    await as.until(() => as.seen.token.length > before);
    leaving.abort();
    expect(await left).toBe('left');
    letGo();
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.token.length - before).toBe(1);
    expect(as.revocations).toBe(0);
  });

  it('a dead grant asks its person on every node, and the authorization server is left alone', async () => {
    const { as, agent, tenant, importTokens } = await aGrantedPerson(scene, era, 'rawLegacy');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    as.revokeAll();
    const before = as.seen.token.length;
    const node = await scene.node();
    const other = await scene.side(tenant.id, tenant.key, node).raw('rawLegacy', 'ada');
    for (const one of [agent, other, agent])
      expect(await one.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(as.seen.token.length - before).toBe(1);
  });
});
