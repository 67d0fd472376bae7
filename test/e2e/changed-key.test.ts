// A changed key is used from the next call on; the old connection ends when its last call has ended.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene();

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('is served with the new key from the next call on, while its running call ends with the old one', async () => {
    const upstream = await scene.keyed(era, {
      keys: [
        ['key-1', 'ada-1'],
        ['key-2', 'ada-2'],
      ],
    });
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-1');
    const ada = await tenant.raw(kind, 'ada');
    const running = ada.callTool('notes__slow', { ms: 600 });
    await upstream.until(() => upstream.executed.get('slow') === 1);
    await tenant.setSecret('notes', 'ada', 'key-2');
    for (let n = 0; n < 5; n++) expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada-2;/);
    expect(upstream.counters.deletes, 'the old one still has a call').toBe(0);
    expect(textOf(await within(running, 'the running call'))).toMatch(/^who=ada-1;/);
    if (era === 'legacy') await upstream.until(() => upstream.counters.deletes === 1, 'the old session to be ended');
    expect(upstream.counters.crossed).toBe(0);
  });

  it('is served with the new key on another node within a second', async () => {
    const upstream = await scene.keyed(era, {
      keys: [
        ['key-1', 'ada-1'],
        ['key-2', 'ada-2'],
      ],
    });
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-1');
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('notes__whoami');
    await scene.side(tenant.id, tenant.key, await scene.node()).setSecret('notes', 'ada', 'key-2');
    await eventually(
      'the new key',
      async () => textOf(await ada.callTool('notes__whoami')).startsWith('who=ada-2;'),
      1_000,
    );
  });
});

describe.each(RAW_KINDS)('an edit of the definition, for %s', (kind) => {
  it('is in force from the next call on and ends what was open', async () => {
    const first = await scene.open('legacy');
    const second = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(first) });
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('s__whoami');
    await tenant.put('s', without(second));
    await first.until(() => first.counters.deletes === 1, 'the old session to be ended');
    const before = first.seen.length;
    await ada.callTool('s__whoami');
    expect(second.counters.calls).toBe(1);
    expect(first.seen.length).toBe(before);
  });

  it('that disables or removes a server takes its tools away at once', async () => {
    const upstream = await scene.open('modern');
    const tenant = await scene.tenant({ s: without(upstream), t: without(upstream) });
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('s__whoami');
    await ada.callTool('t__whoami');
    await tenant.put('s', without(upstream, { enabled: false }));
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/servers/t`);
    const before = upstream.counters.calls;
    for (const name of ['s__whoami', 't__whoami'])
      await expect(ada.callTool(name)).rejects.toMatchObject({ code: -32602 });
    expect(upstream.counters.calls).toBe(before);
  });
});
