// The plain story with every client we know and servers of both eras: list, call, progress, changes, cancel.
import { describe, expect, it } from 'vitest';
import { AGENT_KINDS, textOf } from '../support/agents/agent.ts';
import { ERAS, useScene, withKeys } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene();

describe.each(AGENT_KINDS.flatMap((kind) => ERAS.map((era) => ({ kind, era }))))(
  '$kind over a $era server',
  ({ kind, era }) => {
    it('is served with its own key, hears progress and list changes, and can cancel', async () => {
      const upstream = await scene.keyed(era);
      const tenant = await scene.tenant({ notes: withKeys(upstream) });
      await tenant.setSecret('notes', 'ada', 'key-ada');
      await tenant.setSecret('notes', 'bob', 'key-bob');
      const ada = await tenant.agent(kind, 'ada');
      const bob = await tenant.agent(kind, 'bob');

      expect((await ada.listTools()).tools.map(({ name }) => name)).toContain('notes__whoami');
      expect(textOf(await ada.callTool('notes__whoami', { a: 'é' }))).toMatch(/^who=ada;session=\S+;args=\{"a":"é"\}$/);
      expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
      await expect(ada.callTool('notes__rpc_error')).rejects.toMatchObject({ code: -32602 });
      expect(await ada.callTool('notes__fail')).toMatchObject({ isError: true });

      const heard: number[] = [];
      await ada.callTool(
        'notes__progress',
        { count: 3, everyMs: 5 },
        { onProgress: ({ progress }) => heard.push(progress) },
      );
      expect(heard).toEqual([1, 2, 3]);

      const changed = new Promise<void>((resolve) => void ada.onListChanged(resolve));
      await upstream.until(() => upstream.counters.openStreams === 1, 'the proxy to listen');
      upstream.addTool('late');
      await within(changed, 'the list change');
      expect((await ada.listTools()).tools.map(({ name }) => name)).toContain('notes__late');

      const leave = new AbortController();
      const call = ada.callTool('notes__never', {}, { signal: leave.signal });
      call.catch(() => {});
      await upstream.until(() => upstream.executed.get('never') === 1);
      leave.abort();
      await expect(call).rejects.toThrow();
      await upstream.until(() => upstream.counters.cancelled + upstream.counters.aborted > 0, 'the cancel');
    });
  },
);
