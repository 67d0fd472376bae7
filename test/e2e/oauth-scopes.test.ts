// A server that wants more than a grant has: its person is asked for all of it at once, and not again and again.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { confirm } from '../support/sign-in/sign-in-scene.ts';
import { linkIn } from '../support/sign-in.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('B171: is asked once for the scopes of before and the missing one together', async () => {
    const { as, agent } = await aGrantedPerson(scene, era, kind, {
      tokens: { scopes: ['notes:read'] },
      mcp: { toolScopes: { whoami: ['notes:read'], write_note: ['notes:write'] } },
    });
    const refused = await agent.callTool('notes__write_note', { text: 'x' });
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: 'sign_in_required' } });
    expect(as.seen.token, 'a renewal cannot widen a grant').toEqual([]);
    const page = await new Browser().open(linkIn(refused));
    expect(page.text).toContain('notes:read');
    expect(page.text).toContain('notes:write');
  });

  it('B171: reads and writes in turn without another question after that', async () => {
    const world = await aGrantedPerson(scene, era, kind, {
      tokens: { scopes: ['notes:read'] },
      mcp: { toolScopes: { whoami: ['notes:read'], write_note: ['notes:write'] } },
      // Registers by itself, so that the sign-in can come back.
      oauth: { clientId: undefined },
    });
    const { as, agent, tenant } = world;
    expect(await agent.callTool('notes__whoami')).toMatchObject({
      content: [{ text: expect.stringMatching(/^who=ada;/) }],
    });
    const link = linkIn(await agent.callTool('notes__write_note', { text: 'x' }));
    expect((await confirm(link, new Browser())).text).toContain('Go back to your agent');
    const { scope } = as.seen.authorize[0]?.params ?? {};
    expect(new Set(scope?.split(' '))).toEqual(new Set(['notes:read', 'notes:write']));
    for (const tool of ['whoami', 'write_note', 'whoami', 'write_note'])
      expect((await agent.callTool(`notes__${tool}`, { text: 'x' }))['isError'] ?? false, tool).toBe(false);
    expect(as.seen.authorize).toHaveLength(1);
    expect((await tenant.status('notes'))['status']).toBe('ok');
  });

  it('says that a scope was not granted, instead of asking for it for ever', async () => {
    const { as, agent } = await aGrantedPerson(scene, era, kind, {
      tokens: { scopes: ['notes:write'] },
      mcp: { toolScopes: { write_note: ['notes:write'] } },
      as: { grantableScopes: ['notes:read'] },
    });
    const check = as.check.bind(as);
    Object.assign(as, { check: async (text: string) => ({ ...(await check(text)), scopes: [] }) });
    for (let n = 0; n < 2; n++) {
      const refused = await agent.callTool('notes__write_note', { text: 'x' });
      expect(refused).toMatchObject({ isError: true, structuredContent: { error: 'denied', scopes: ['notes:write'] } });
    }
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('B173: a plain 403 is renewed once and tried once more, and then the person is asked', async () => {
    const { as, mcp, agent } = await aGrantedPerson(scene, era, kind);
    await agent.callTool('notes__whoami');
    Object.assign(mcp.settings, { refusedAt: ['call'], refusalStatus: 403, challenge: { text: '' } });
    const before = mcp.seen.filter(({ status }) => status === 403).length;
    expect(await agent.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(mcp.seen.filter(({ status }) => status === 403).length - before).toBe(2);
    expect(as.seen.token).toHaveLength(1);
  });
});
