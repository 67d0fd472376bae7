// An upstream that was restarted, or was away for a moment, is healed without losing or repeating a call.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { createSwitchedDoor } from '../support/switched-door.ts';
import { sendNothing } from '../support/upstreams/responses.ts';

const scene = useScene();

describe.each(RAW_KINDS)('for %s', (kind) => {
  it('B001: a call that meets a forgotten session is sent once more, in a new one', async () => {
    const upstream = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    await agent.callTool('s__whoami');
    upstream.restart();
    expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=/);
    expect(upstream.executed.get('whoami')).toBe(2);
    expect(upstream.counters).toMatchObject({ initializes: 2, unknownSessions: 1, calls: 2 });
    expect(upstream.seen.filter(({ method }) => method === 'notifications/initialized')).toHaveLength(2);
  });

  it('B002: two persons whose sessions are gone each get one new session, however many call at once', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    await tenant.setSecret('s', 'bob', 'key-bob');
    const agents = [await tenant.raw(kind, 'ada'), await tenant.raw(kind, 'bob')];
    for (const agent of agents) await agent.callTool('s__whoami');
    const before = upstream.counters.initializes;
    upstream.restart();
    const calls = Array.from({ length: 20 }, async (_, at) =>
      textOf((await agents[at % 2]?.callTool('s__whoami', { at })) ?? {}),
    );
    (await Promise.all(calls)).forEach((text, at) => {
      expect(text).toMatch(new RegExp(`^who=${at % 2 === 0 ? 'ada' : 'bob'};.*\\{"at":${at}\\}$`));
    });
    expect(upstream.counters.initializes - before).toBe(2);
    expect(upstream.executed.get('whoami')).toBe(22);
    expect(upstream.counters.crossed).toBe(0);
  });

  it('B003: also when a listening stream sees the loss first; no request leaves without a session', async () => {
    const upstream = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    await agent.onListChanged(() => {});
    await agent.callTool('s__whoami');
    await upstream.until(() => upstream.counters.openStreams === 1, 'the proxy to listen');
    upstream.restart();
    await upstream.until(() => upstream.counters.unknownSessions > 0, 'the stream to be asked for again');
    expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=/);
    const naked = upstream.seen.filter(
      ({ method, headers, http }) =>
        method !== 'initialize' &&
        method !== 'server/discover' &&
        http === 'POST' &&
        headers['mcp-session-id'] === undefined,
    );
    expect(naked).toEqual([]);
    upstream.addTool('after');
    await eventually('the change to be heard after the restart', async () =>
      (await agent.listTools()).tools.some(({ name }) => name === 's__after'),
    );
  });

  it('B006: a server that was away is used again as soon as it is back', async () => {
    const door = await scene.keep(createSwitchedDoor((await scene.open('legacy')).url));
    const tenant = await scene.tenant({ s: without(door) });
    const agent = await tenant.raw(kind);
    await agent.callTool('s__whoami');
    await door.shut();
    expect(await agent.callTool('s__whoami')).toMatchObject({
      isError: true,
      structuredContent: { error: 'upstream_unavailable' },
    });
    const replaced = await scene.open('legacy');
    await door.open(replaced.url);
    expect(textOf(await agent.callTool('s__whoami'))).toMatch(/^who=/);
    // The search for its tools meets the forgotten session as well; all share one new session.
    expect(replaced.counters).toMatchObject({ initializes: 1 });
    expect(replaced.executed.get('whoami')).toBe(1);
  });

  it('a session that is gone again right away fails the call once, and is not asked a third time', async () => {
    const upstream = await scene.keep(startScripted({ onCall: ({ res }) => sendNothing(res, 404) }));
    const tenant = await scene.tenant({ s: without(upstream) });
    expect(await (await tenant.raw(kind)).callTool('s__act')).toMatchObject({
      isError: true,
      structuredContent: { error: 'upstream_unavailable' },
    });
    expect(upstream.calls).toBe(2);
  });
});
