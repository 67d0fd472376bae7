// Progress reaches only the call it belongs to, with that agent's own token; equal ids never meet.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { RawResponse } from '../support/agents/raw-http.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { type JsonObject, objectAt, resultText } from '../support/upstreams/message.ts';
import { eventText, startEvents } from '../support/upstreams/responses.ts';

const scene = useScene();

/** A call with an id and a progress token of the test's own. */
const call = (
  agent: RawAgent,
  name: string,
  args: JsonObject,
  id: string | number,
  progressToken?: string | number,
): Promise<RawResponse> => {
  const _meta = progressToken === undefined ? {} : { _meta: { progressToken } };
  const { body, headers } = agent.compose('tools/call', { name, arguments: args, ..._meta });
  return agent.post({ ...body, id }, headers);
};

const heard = (response: RawResponse): readonly JsonObject[] =>
  (response.stream?.messages ?? [])
    .filter(({ method }) => method === 'notifications/progress')
    .map((message) => objectAt(message, 'params'));

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('tokens of strings and numbers come back as they were', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    for (const token of ['text', '7', 7, 0, 'mit "Anführung" 漢']) {
      const response = await call(agent, 's__progress', { count: 2, everyMs: 2 }, 1, token);
      expect(await response.answer()).toMatchObject({ id: 1, result: {} });
      expect(heard(response).map(({ progressToken, progress }) => [progressToken, progress])).toEqual([
        [token, 1],
        [token, 2],
      ]);
    }
    const sent = upstream.seen
      .filter(({ method }) => method === 'tools/call')
      .map(({ body }) => objectAt(objectAt(objectAt({ body }, 'body'), 'params'), '_meta')['progressToken']);
    expect(new Set(sent).size, 'upstream each call has a token of its own').toBe(sent.length);
  });

  it('two agents with equal ids and equal tokens on one upstream connection never hear of each other (B116, B118, B130)', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agents = [await tenant.raw(kind, 'ada'), await tenant.raw(kind, 'bob'), await tenant.raw(kind, 'ada')];
    const responses = await Promise.all(
      agents.map((agent, at) => call(agent, 's__progress', { count: 4 + at, everyMs: 10 }, 'same', 'same')),
    );
    for (const [at, response] of responses.entries()) {
      const answer = await response.answer();
      expect(answer['id']).toBe('same');
      expect(textOf(objectAt(answer, 'result'))).toContain(`"count":${4 + at}`);
      expect(heard(response)).toHaveLength(4 + at);
      for (const progress of heard(response)) expect(progress).toMatchObject({ progressToken: 'same', total: 4 + at });
    }
    if (era === 'legacy') expect(upstream.counters.initializes, 'one connection for all').toBe(1);
  });

  it('progress with a made-up token, or for an agent that asked for none, goes nowhere (B027)', async () => {
    const upstream = await scene.keep(
      startScripted({
        era,
        onCall: ({ res, id, params }) => {
          const token = objectAt(params, '_meta')['progressToken'];
          startEvents(res);
          for (const progressToken of [987_654, null, 'x', { a: 1 }, token]) {
            res.write(
              eventText(
                JSON.stringify({
                  jsonrpc: '2.0',
                  method: 'notifications/progress',
                  params: { progressToken, progress: 1 },
                }),
              ),
            );
          }
          res.end(eventText(resultText(id, '{"content":[]}')));
        },
      }),
    );
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const asked = await call(agent, 's__act', {}, 1, 'mine');
    expect(await asked.answer()).toMatchObject({ result: { content: [] } });
    expect(heard(asked).map(({ progressToken }) => progressToken)).toEqual(['mine']);
    const silent = await call(agent, 's__act', {}, 2);
    expect(await silent.answer()).toMatchObject({ id: 2, result: { content: [] } });
    expect(heard(silent)).toEqual([]);
  });

  it('an agent that takes no streams gets the answer alone', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const { body, headers } = agent.compose('tools/call', {
      name: 's__progress',
      arguments: { count: 2, everyMs: 2 },
      _meta: { progressToken: 1 },
    });
    const response = await agent.post(body, { ...headers, accept: 'application/json' });
    expect([response.status, response.headers['content-type']]).toEqual([200, 'application/json']);
    expect(await response.answer()).toHaveProperty('result.content');
  });
});
