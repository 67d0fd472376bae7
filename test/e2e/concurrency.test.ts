// A server gets no more calls at once than its definition says; the others wait, and may leave.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { type ScriptedCall, startScripted } from '../support/scripted-upstream.ts';

const scene = useScene();

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('calls beyond the limit wait in line, and one that leaves the line never runs', async () => {
    const running: ScriptedCall[] = [];
    const upstream = await scene.keep(startScripted({ era, onCall: (call) => void running.push(call) }));
    const tenant = await scene.tenant({ s: without(upstream, { maxConcurrentCalls: 2 }) });
    const agent = await tenant.raw(kind);
    await agent.listTools();
    const call = (n: number, signal?: AbortSignal) =>
      agent.callTool('s__act', { n }, signal === undefined ? {} : { signal });
    const first = [call(1), call(2)];
    await upstream.until(() => upstream.calls === 2);
    const leave = new AbortController();
    const leaver = call(3, leave.signal);
    leaver.catch(() => {});
    const last = [call(4), call(5)];
    await agent.listTools();
    expect(upstream.calls, 'two at once').toBe(2);
    leave.abort();
    await expect(leaver).rejects.toThrow();
    await agent.listTools();
    const answered = async (count: number) => {
      await upstream.until(() => upstream.calls === count);
      const next = running.splice(0);
      for (const one of next)
        one.result(`{"content":[{"type":"text","text":${JSON.stringify(JSON.stringify(one.params['arguments']))}}]}`);
    };
    await answered(2);
    await answered(4);
    const texts = (await Promise.all([...first, ...last])).map(textOf);
    expect(texts).toEqual(['{"n":1}', '{"n":2}', '{"n":4}', '{"n":5}']);
    expect(upstream.calls).toBe(4);
  });

  it('a hundred calls at once over one connection each get their own answer (B116, B118)', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agents = await Promise.all(['ada', 'bob', 'carol', 'dave'].map((who) => tenant.raw(kind, who)));
    const texts = await Promise.all(
      Array.from({ length: 100 }, async (_, n) =>
        textOf((await agents[n % 4]?.callTool('s__slow', { ms: (n * 7) % 50, n })) ?? {}),
      ),
    );
    texts.forEach((text, n) => {
      expect(text).toContain(`"n":${n}}`);
    });
    if (era === 'legacy') expect(upstream.counters.initializes).toBe(1);
  });
});
