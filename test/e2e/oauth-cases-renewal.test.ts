// What happens around a renewal: other sign-ins, lost answers, a stop, moved endpoints, changed secrets.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import type { AnswerHook } from '../support/sign-in/as-options.ts';
import { refuses, type ScriptedAs, startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

/** The next token request is done at once, or not at all, and answered when the test says so. */
function held(as: ScriptedAs, answer?: AnswerHook): () => void {
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  as.once('token', async (request, work) => {
    const said = await (answer === undefined ? work() : answer(request, work));
    await gate;
    return said;
  });
  return () => letGo();
}

const refreshTokens = (as: ScriptedAs): readonly unknown[] =>
  as.seen.token.flatMap(({ params }) => params['refresh_token'] ?? []);

describe('a renewal', () => {
  it.each([
    ['well', undefined],
    ['with invalid_grant', refuses('invalid_grant')],
  ])('that ends %s after its person signed in anew leaves the new sign-in alone (B184)', async (_, answer) => {
    const { as, mcp, agent, tenant, importTokens } = await aGrantedPerson(scene, 'modern', 'rawModern');
    const node = await scene.node();
    const other = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    const before = mcp.seen.length;
    const letGo = held(as, answer);
    const first = agent.callTool('notes__whoami');
    await as.until(() => as.seen.token.length === 1);
    await importTokens();
    const fresh = as.accessTokens.at(-1);
    letGo();
    for (const result of [await first, await other.callTool('notes__whoami'), await agent.callTool('notes__whoami')])
      expect(textOf(result)).toMatch(/^who=ada;/);
    expect(new Set(mcp.seen.slice(before).flatMap(({ token }) => token ?? []))).toEqual(new Set([fresh]));
    expect(as.seen.token).toHaveLength(1);
  });

  it('whose answer was lost is made again, and a server with grace gives the same: one grant, no question (B186)', async () => {
    const { as, agent, importTokens } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    let given: Awaited<ReturnType<AnswerHook>> = 'drop';
    as.once('token', async (_request, work) => {
      given = await work();
      return 'drop';
    });
    as.once('token', async () => given);
    expect(await agent.callTool('notes__whoami')).toMatchObject({
      structuredContent: { error: 'upstream_unavailable' },
    });
    // As the clock would.
    await scene.app.sql('UPDATE renewals SET retry_at = NULL');
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    const [first, second] = refreshTokens(as);
    expect(second).toBe(first);
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    as.expireAll();
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.revocations).toBe(0);
  });

  it('is waited for when its node stops, and kept (B189)', async () => {
    const { as, tenant, agent, importTokens } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
    await agent.callTool('notes__whoami');
    await importTokens({ expiresIn: 0 });
    const node = await scene.node();
    const there = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    const letGo = held(as);
    const leaving = new AbortController();
    const left = there.callTool('notes__whoami', {}, { signal: leaving.signal }).catch(() => 'left');
    await as.until(() => as.seen.token.length === 1);
    leaving.abort();
    expect(await left).toBe('left');
    const stopped = node.stop();
    await eventually('the node to take no more calls', () =>
      fetch(node.url, { signal: AbortSignal.timeout(1_000) }).then(
        () => false,
        () => true,
      ),
    );
    letGo();
    await stopped;
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.token).toHaveLength(1);
    expect(as.revocations).toBe(0);
  });

  it('goes where the grant was given, not where the metadata points by now (B166)', async () => {
    const { as, agent } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
    const evil = await scene.keep(startScriptedAs());
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    Object.assign(as.settings, { metadata: { token_endpoint: `${evil.issuer}/token` } });
    as.expireAll();
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(as.seen.token).toHaveLength(1);
    expect(Object.values(evil.seen).flat()).toEqual([]);
  });

  it('uses a changed client secret at once, whatever characters it has (B168, B212)', async () => {
    const { as, mcp, agent, tenant } = await aGrantedPerson(scene, 'modern', 'rawLegacy', {
      oauth: { clientId: 'by-hand', clientSecret: 'old secret' },
    });
    as.addClient({ clientId: 'by-hand', secret: 'new: s/cret+%=' });
    as.expireAll();
    expect(await agent.callTool('notes__whoami')).toMatchObject({
      structuredContent: { error: 'upstream_unavailable' },
    });
    const oauth = { clientId: 'by-hand', clientSecret: 'new: s/cret+%=' };
    await tenant.put('notes', { url: mcp.url, credential: { kind: 'oauth', oauth } });
    await scene.app.sql('UPDATE renewals SET retry_at = NULL');
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });
});
