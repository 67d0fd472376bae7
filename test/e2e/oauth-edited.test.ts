// An admin who edits a server sends nobody's grant anywhere (T11, D9).
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { ERAS, useScene } from '../support/scene.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { withOauth } from '../support/sign-in/sign-in-scene.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

describe.each(ERAS)('a %s server', (era) => {
  it.each<[string, (url: string, elsewhere: string) => JsonObject]>([
    ['origin', (_, elsewhere) => withOauth({ url: elsewhere }, { clientId: 'by-hand' })],
    ['issuer', (url) => withOauth({ url }, { clientId: 'by-hand', issuer: 'http://127.0.0.1:9' })],
    ['resource', (url) => withOauth({ url }, { clientId: 'by-hand', resource: `${url}/other` })],
    ['client', (url) => withOauth({ url }, { clientId: 'another' })],
    ['token endpoint', (url) => withOauth({ url }, { clientId: 'by-hand', tokenEndpoint: 'http://127.0.0.1:9/token' })],
    ['header', (url) => ({ url, credential: { kind: 'oauth', header: 'x-token', oauth: { clientId: 'by-hand' } } })],
    ['scheme', (url) => ({ url, credential: { kind: 'oauth', scheme: 'Token', oauth: { clientId: 'by-hand' } } })],
  ])('with another %s gets no old token, and editing it back brings none', async (_, edited) => {
    const { as, mcp, agent, tenant, accessToken } = await aGrantedPerson(scene, era, 'rawLegacy');
    const other = await scene.keep(startGuardedMcp({ era, tokens: as }));
    await agent.callTool('notes__whoami');
    const before = mcp.seen.length;
    await tenant.put('notes', edited(mcp.url, other.url));
    const isAsked = async (): Promise<void> => {
      expect(await agent.callTool('notes__connect')).toMatchObject({
        structuredContent: { status: 'sign_in_required' },
      });
    };
    await isAsked();
    await tenant.put('notes', withOauth(mcp, { clientId: 'by-hand' }));
    await isAsked();
    // The tools of before are known again; whoever calls one is asked.
    expect(await agent.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(other.seen.map(({ token }) => token)).not.toContain(accessToken);
    expect(mcp.seen.slice(before).filter(({ place }) => place === 'call')).toEqual([]);
    expect(as.seen.token).toEqual([]);
  });

  it.each<[string, (url: string) => JsonObject]>([
    ['title', (url) => withOauth({ url }, { clientId: 'by-hand' }, { title: 'New' })],
    ['limits', (url) => withOauth({ url }, { clientId: 'by-hand' }, { timeoutMs: 5_000 })],
    ['client secret', (url) => withOauth({ url }, { clientId: 'by-hand', clientSecret: 'new' })],
  ])('B168: with another %s keeps its people', async (_, edited) => {
    const { mcp, agent, tenant } = await aGrantedPerson(scene, era, 'rawLegacy');
    await agent.callTool('notes__whoami');
    await tenant.put('notes', edited(mcp.url));
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('B170: that was removed and registered again under its name gets no old token', async () => {
    const { mcp, agent, tenant } = await aGrantedPerson(scene, era, 'rawLegacy');
    await agent.callTool('notes__whoami');
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/notes`);
    const before = mcp.seen.length;
    await tenant.put('notes', withOauth(mcp, { clientId: 'by-hand' }));
    expect((await agent.listTools()).tools.map(({ name }) => name)).toEqual(['notes__connect']);
    expect(mcp.seen.slice(before).flatMap(({ token }) => token ?? [])).toEqual([]);
  });
});
