// Prompts, resources and completion with every client we know and servers of both eras, by both doors.
import { describe, expect, it } from 'vitest';
import { AGENT_KINDS } from '../support/agents/agent.ts';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { ERAS, RAW_KINDS, useScene, withKeys } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
const argument = { name: 'who', value: 'é' };

describe.each(AGENT_KINDS.flatMap((kind) => ERAS.map((era) => ({ kind, era }))))(
  '$kind over a $era server',
  ({ kind, era }) => {
    it.each(['/mcp', '/mcp/s'])(
      'at %s lists, gets, reads and completes, each person with their own key',
      async (path) => {
        const prefix = path === '/mcp' ? 's__' : '';
        const tenant = await scene.tenant({ s: withKeys(await scene.offering(era)) });
        for (const who of ['ada', 'bob']) {
          await tenant.setSecret('s', who, `key-${who}`);
          const agent = await tenant.agent(kind, who, path);
          const lists = await Promise.all(LISTS.map((list) => keysOf(agent, list)));
          expect(lists).toEqual([[`${prefix}greet`], ['file:///docs/readme.md', 'bin://logo'], ['item://{id}/data']]);
          const got = await agent.ask('prompts/get', { name: `${prefix}greet`, arguments: { who: 'é' } });
          expect(saidIn(got)).toBe(`who=${who};at=keyed;prompt=greet;args={"who":"é"}`);
          for (const uri of ['file:///docs/readme.md', 'item://7/data'])
            expect(saidIn(await agent.ask('resources/read', { uri }))).toBe(`who=${who};at=keyed;uri=${uri}`);
          for (const [ref, name] of [
            [{ type: 'ref/prompt', name: `${prefix}greet` }, 'greet'],
            [{ type: 'ref/resource', uri: 'item://{id}/data' }, 'item://{id}/data'],
          ] as const)
            expect(saidIn(await agent.ask('completion/complete', { ref, argument }))).toBe(
              `who=${who};at=keyed;ref=${name};who=é;context=null`,
            );
          await expect(agent.ask('prompts/get', { name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
        }
      },
    );
  },
);

describe.each(RAW_KINDS)('%s', (kind) => {
  it.each(['/mcp', '/mcp/s'])('is told at %s what there is beside tools', async (path) => {
    const tenant = await scene.tenant({ s: withKeys(await scene.offering('legacy')) });
    const { greeting } = await tenant.raw(kind, 'ada', path);
    expect(objectAt(greeting, 'capabilities')).toMatchObject({
      tools: { listChanged: true },
      prompts: {},
      resources: {},
      completions: {},
    });
  });
});
