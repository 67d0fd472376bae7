// No request of a sign-in goes on to where a redirect points: it would carry codes, tokens and secrets there.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import type { AnswerHook, AsPlace } from '../support/sign-in/as-options.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { confirm, linkFrom, signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

async function elsewhere() {
  const evil = await scene.keep(startScriptedAs());
  const sendsOn =
    (status: number): AnswerHook =>
    async ({ path }) => ({ status, headers: { location: `${evil.issuer}${path}` } });
  return { sendsOn, seenThere: () => Object.values(evil.seen).flat() };
}

describe.each([302, 303, 307, 308])('a redirect with %i (B234, B243)', (status) => {
  it.each<AsPlace>(['metadata', 'register', 'token'])('of the %s of a sign-in is followed by nobody', async (place) => {
    const { sendsOn, seenThere } = await elsewhere();
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    as.always(place, sendsOn(status));
    const link = await linkFrom(ada);
    const page = await (place === 'metadata' ? new Browser().open(link) : confirm(link));
    expect(page.text).not.toContain('<title>Connected</title>');
    expect(as.seen[place].length).toBeGreaterThan(0);
    expect(seenThere()).toEqual([]);
  });

  it('of a renewal or a revocation is followed by nobody, and the grant lives', async () => {
    const { sendsOn, seenThere } = await elsewhere();
    const { as, agent, tenant } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
    await agent.callTool('notes__whoami');
    as.expireAll();
    as.once('token', sendsOn(status));
    expect(await agent.callTool('notes__whoami')).toMatchObject({
      structuredContent: { error: 'upstream_unavailable' },
    });
    // As the clock would.
    await scene.app.sql('UPDATE renewals SET retry_at = NULL');
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    as.always('revoke', sendsOn(status));
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/notes/credentials/ada`);
    await as.until(() => as.seen.revoke.length === 2);
    expect(seenThere()).toEqual([]);
  });
});

it('a document of the server that points elsewhere is not read there, and its issuer not believed (B234, B240)', async () => {
  const evil = await scene.keep(startScriptedAs());
  const { as, mcp, tenant } = await signInWorld(scene, 'modern');
  const other = await scene.keep(startScriptedAs());
  // Named by the server itself, so asked; but it speaks for another issuer.
  Object.assign(mcp.settings, { authorizationServers: [other.issuer] });
  Object.assign(other.settings, { metadata: { issuer: as.issuer, token_endpoint: `${evil.issuer}/token` } });
  const page = await new Browser().open(await linkFrom(await tenant.raw('rawModern', 'ada')));
  expect(page.status).toBe(502);
  expect(page.text).toContain('names another issuer');
  expect([...Object.values(evil.seen).flat(), ...as.seen.token, ...other.seen.register]).toEqual([]);
  Object.assign(mcp.settings, { authorizationServers: [as.issuer] });
  await tenant.put('notes', { url: mcp.url, title: 'New', credential: { kind: 'oauth' } });
  await signIn({ as }, await tenant.raw('rawModern', 'ada'));
});
