// What the admin API, a list and the log say of a server that went away behind tools that are known.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkFrom } from '../support/sign-in/sign-in-scene.ts';
import { createSwitchedDoor } from '../support/switched-door.ts';
import { objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
const UNREACHABLE = 'The server cannot be reached.';

describe.each(RAW_KINDS)('a server that died, for %s', (kind) => {
  it.each([
    ['each person has a key for', withKeys],
    ['nobody needs a key for', without],
  ])(
    'and that %s is cached, with its last error and a line in the log, until it is back',
    async (_whose, registered) => {
      const real = await scene.keyed('legacy', { requireKey: registered === withKeys });
      const door = await scene.keep(createSwitchedDoor(real.url));
      const tenant = await scene.tenant({ notes: registered(door) });
      const other = await scene.tenant({ notes: without(await scene.open('legacy')) });
      if (registered === withKeys) await tenant.setSecret('notes', 'ada', 'key-ada');
      const ada = await tenant.raw(kind, 'ada');
      await ada.callTool('notes__whoami');
      expect(await tenant.status('notes')).toMatchObject({ status: 'ok', lastError: null, lastErrorAt: null });

      await door.shut();
      const begun = new Date().toISOString();
      const died = await ada.callTool('notes__whoami');
      expect(textOf(died)).toBe(`notes: ${UNREACHABLE}`);
      const full = 'The server cannot be reached: connection refused.';
      const status = await tenant.status('notes');
      expect(status).toMatchObject({ status: 'cached', reason: full, lastError: full });
      expect(String(status['lastErrorAt']) >= begun).toBe(true);
      const { raw } = await ada.listTools();
      expect(objectAt(objectAt(raw[0] ?? {}, '_meta'), 'keybearer/servers')).toEqual({
        notes: { state: 'cached', reason: UNREACHABLE },
      });
      await eventually(
        'the other tenant to have its tools',
        async () => (await other.status('notes'))['status'] === 'ok',
      );
      expect(await other.status('notes')).toMatchObject({ reason: null, lastError: null });
      for (let again = 0; again < 3; again++) await ada.callTool('notes__whoami');
      const lines = scene.app.lines.filter((line) => line.includes('"call failed"') && line.includes(`"${tenant.id}"`));
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
        expect.objectContaining({ level: 40, server: 'notes' }),
      ]);

      await door.open(real.url);
      expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=/);
      await eventually('it to be ok', async () => (await tenant.status('notes'))['status'] === 'ok');
      expect(await tenant.status('notes')).toMatchObject({ reason: null, lastError: full });
    },
  );
});

describe('a server of which nobody can find out how to sign in', () => {
  it('says so to its admin once somebody was about to, and forgets it when the definition is mended', async () => {
    const gone = await scene.open('legacy');
    await gone.close();
    const definition = { url: gone.url, credential: { kind: 'oauth' } };
    const tenant = await scene.tenant({ notes: definition });
    const ada = await tenant.raw('rawModern', 'ada');
    expect(await tenant.status('notes')).toMatchObject({
      status: 'sign_in_required',
      reason: 'Nobody has signed in yet.',
      lastError: null,
    });
    await new Browser().open(await linkFrom(ada));
    const shown = await tenant.status('notes');
    expect(shown).toMatchObject({ status: 'sign_in_required', lastErrorAt: expect.stringMatching(/^20/) });
    expect(shown['lastError']).toMatch(/^How to sign in there was not found out: .*: connection refused\.$/);
    expect(shown['reason']).toBe(shown['lastError']);
    expect(JSON.stringify((await ada.listTools()).raw)).not.toContain('refused');
    await tenant.put('notes', { ...definition, title: 'Notes' });
    expect(await tenant.status('notes')).toMatchObject({ reason: 'Nobody has signed in yet.', lastError: null });
  });
});
