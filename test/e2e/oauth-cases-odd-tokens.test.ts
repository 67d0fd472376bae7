// Tokens that no header can carry: nobody is connected by one, and nobody is told one.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import type { AnswerHook } from '../support/sign-in/as-options.ts';
import { confirm, linkFrom, signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { aGrantedPerson } from './a-granted-person.ts';

const scene = useScene();

const CANARY = 'canary-4c1e';
const ODD = [`${CANARY}\r\nx-evil: 1`, `${CANARY}\u0000`, `${CANARY}\u6f22`, `${CANARY}\u00e9`];
const gives =
  (token: string): AnswerHook =>
  async (_request, work) => {
    const answer = await work();
    return { ...answer, body: { ...(answer.body as object), access_token: token } };
  };

describe('a token that cannot be sent as a header (B245)', () => {
  it.each(ODD)('%j of a sign-in connects nobody, and is in no page, answer or log line', async (token) => {
    const { as, tenant } = await signInWorld(scene, 'modern');
    const ada = await tenant.raw('rawModern', 'ada');
    as.once('token', gives(token));
    const page = await confirm(await linkFrom(ada));
    expect(page.text).toContain('The sign-in server refused');
    expect(await scene.app.sql('SELECT owner FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
    expect(page.text + scene.app.lines.join('')).not.toContain(CANARY);
    await signIn({ as }, ada);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it.each(ODD)('%j of a renewal is not used, and is in no answer or log line', async (token) => {
    const { as, mcp, agent } = await aGrantedPerson(scene, 'modern', 'rawLegacy');
    await agent.callTool('notes__whoami');
    as.expireAll();
    as.once('token', gives(token));
    const result = await agent.callTool('notes__whoami');
    expect(result).toMatchObject({ structuredContent: { error: 'upstream_unavailable' } });
    expect(JSON.stringify([result, scene.app.lines, mcp.tokens])).not.toContain(CANARY);
  });

  it.each(ODD)('%j is not taken over, and not repeated', async (accessToken) => {
    const { tenant } = await aGrantedPerson(scene, 'modern', 'rawModern');
    const path = `/tenants/${tenant.id}/servers/notes/credentials/bob`;
    const reply = await scene.app.admin('PUT', path, { oauth: { accessToken } });
    expect(reply.status).toBe(422);
    expect(JSON.stringify([reply.body, scene.app.lines])).not.toContain(CANARY);
  });
});
