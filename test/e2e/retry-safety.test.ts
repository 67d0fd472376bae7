// B035: a call is repeated only when it surely did not run; else the agent is told that it may have run.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { type ScriptedCall, startScripted } from '../support/scripted-upstream.ts';
import { startEvents } from '../support/upstreams/responses.ts';
import { within } from '../support/within.ts';

const scene = useScene();

const AFTER_RUNNING: Readonly<Record<string, (call: ScriptedCall) => void>> = {
  'resets before the status line': ({ req }) => void req.socket.resetAndDestroy(),
  'ends the connection without an answer': ({ req }) => void req.socket.end(),
  'dies in the body': ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
    res.write('{"jsonrpc":"2.0",', () => res.destroy());
  },
  'ends the stream without an answer': ({ res }) => {
    startEvents(res);
    res.end(': nothing\n\n');
  },
  'answers 502': ({ res }) => res.writeHead(502).end('bad gateway'),
  'answers 503': ({ res }) => res.writeHead(503, { 'retry-after': '1' }).end(),
  'answers 500 as JSON': ({ res }) => res.writeHead(500, { 'content-type': 'application/json' }).end('{}'),
};

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it.each(Object.keys(AFTER_RUNNING))('a call whose server %s runs once and never again', async (how) => {
    const upstream = await scene.keep(startScripted({ era, onCall: (call) => AFTER_RUNNING[how]?.(call) }));
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const response = await within(agent.send('tools/call', { name: 's__act', arguments: {} }), 'an answer');
    expect(await response.answer()).toMatchObject({
      result: { isError: true, structuredContent: { error: 'upstream_unavailable' } },
    });
    expect(upstream.calls).toBe(1);
    if (!how.startsWith('answers'))
      expect(textOf(((await response.answer()) as never)['result'])).toMatch(/may have run/);
  });

  it('a call that finds its pooled connection closed is answered all the same (B033)', async () => {
    // The server closes each connection right behind its answer, as a load balancer does.
    const upstream = await scene.keep(
      startScripted({
        era,
        onCall: ({ res, req, result }) => {
          res.on('finish', () => setImmediate(() => req.socket.destroy()));
          result('{"content":[{"type":"text","text":"done"}]}');
        },
      }),
    );
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    for (let n = 1; n <= 5; n++) expect(textOf(await agent.callTool('s__act'))).toBe('done');
    expect(upstream.calls).toBe(5);
  });
});
