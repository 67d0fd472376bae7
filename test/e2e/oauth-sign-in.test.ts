import { describe, expect, it } from 'vitest';
import { ERAS, useScene } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { confirm, linkFrom, signInWorld } from '../support/sign-in/sign-in-scene.ts';

const scene = useScene();

describe.each(ERAS)('signing in at a %s server', (era) => {
  it('turns the placeholder into its tools, and calls go out with the new token', async () => {
    const { as, mcp, tenant } = await signInWorld(scene, era);
    const agent = await tenant.raw('rawLegacy', 'ada');
    expect((await agent.listTools()).tools.map(({ name }) => name)).toEqual(['notes__connect']);
    const browser = new Browser();
    const page = await confirm(await linkFrom(agent), browser);
    expect(page.text).toContain('Go back to your agent');
    expect(page.url).toMatch(/\/connect\/done\/[\w-]{43}$/);
    expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('notes__whoami');
    const answer = await agent.callTool('notes__whoami', {});
    expect(JSON.stringify(answer)).toContain('who=ada');
    expect(as.seen.token).toHaveLength(1);
    expect(as.seen.register).toHaveLength(1);
    expect(as.seen.authorize[0]?.params).toMatchObject({ resource: mcp.url, code_challenge_method: 'S256' });
    expect(as.seen.token[0]?.params).toMatchObject({ resource: mcp.url });
  });
});
