// A call without a credential is answered at once with the link; nobody's key is used in its place.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene, withKeys } from '../support/scene.ts';
import { linkIn, postKey } from '../support/sign-in.ts';

const scene = useScene();

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('gets the link as a tool result, and after the sign-in the same call works', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    const bob = await tenant.raw(kind, 'bob');
    const before = upstream.counters.calls;
    const result = await bob.callTool('notes__whoami', { n: 1 });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        error: 'sign_in_required',
        server: 'notes',
        url: linkIn(result),
        expiresAt: expect.any(String),
      },
    });
    expect(textOf(result)).toContain(linkIn(result));
    expect(upstream.counters.calls).toBe(before);
    await postKey(linkIn(result), 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami', { n: 1 }))).toMatch(/^who=bob;.*args=\{"n":1\}$/);
  });

  it('never uses the key of another principal or tenant (B217, B223)', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const other = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    await tenant.setSecret('notes', 'bob', 'key-bob');
    // The same person's name in another tenant is another person; their equal keys are two connections.
    await other.setSecret('notes', 'ada', 'key-ada');
    const agents = [await tenant.raw(kind, 'ada'), await tenant.raw(kind, 'bob'), await other.raw(kind, 'ada')];
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, at) =>
        textOf((await (agents[at % 3] ?? agents[0])?.callTool('notes__whoami', { at })) ?? {}),
      ),
    );
    answers.forEach((text, at) => {
      expect(text).toMatch(new RegExp(`^who=${at % 3 === 1 ? 'bob' : 'ada'};.*\\{"at":${at}\\}$`));
    });
    if (era === 'legacy') {
      const sessions = answers.map((text) => /session=([^;]+)/.exec(text)?.[1]);
      expect(new Set(sessions.filter((_, at) => at % 3 === 0)).size).toBe(1);
      expect(sessions[0]).not.toBe(sessions[2]);
    }
    expect(upstream.counters.crossed).toBe(0);
    for (const who of ['bob', 'carol']) {
      expect(await (await other.raw(kind, who)).callTool('notes__whoami')).toMatchObject({
        structuredContent: { error: 'sign_in_required' },
      });
    }
  });

  it('asks again once the key was taken away', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('notes__whoami');
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/notes/credentials/ada`);
    expect(await ada.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
  });

  it('does not send a key to where the server has moved', async () => {
    const upstream = await scene.keyed(era);
    const elsewhere = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('notes__whoami');
    await tenant.put('notes', withKeys(elsewhere));
    const names = (await ada.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(['notes__connect']);
    expect(elsewhere.seen).toEqual([]);
  });
});
