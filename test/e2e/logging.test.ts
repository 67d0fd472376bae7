// What a server logs during a call is heard by the agent whose call it is, as much of it as that agent wants.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import { type JsonObject, objectAt, resultText } from '../support/upstreams/message.ts';
import { eventText, sendText, startEvents } from '../support/upstreams/responses.ts';
import type { Era } from '../support/upstreams/revisions.ts';

const scene = useScene();
const LEVELS = ['debug', 'info', 'warning', 'error'];
const LEVEL_KEY = 'io.modelcontextprotocol/logLevel';
const line = (level: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: { of: level } } });

/** Logs a line of each level before it answers, whatever it was asked for. */
const talkative = (era: Era): Promise<ScriptedUpstream> =>
  scene.keep(
    startScripted({
      era,
      capabilities: { logging: {} },
      onCall: ({ res, id }) => {
        startEvents(res);
        for (const level of LEVELS) res.write(eventText(line(level)));
        res.end(eventText(resultText(id, '{"resultType":"complete","content":[]}')));
      },
      onOther: (message, _req, res) => {
        if (message?.method !== 'logging/setLevel') return false;
        sendText(res, 200, resultText(message.id ?? 0, '{}'));
        return true;
      },
    }),
  );

async function heardIn(agent: RawAgent, meta: JsonObject = {}): Promise<readonly unknown[]> {
  const response = await agent.send('tools/call', { name: 's__act', arguments: {}, _meta: meta });
  expect(await response.answer()).toMatchObject({ result: { content: [] } });
  return (response.stream?.messages ?? [])
    .filter(({ method }) => method === 'notifications/message')
    .map((message) => objectAt(message, 'params')['level']);
}

const askedFor = (upstream: ScriptedUpstream): readonly unknown[] =>
  upstream.messages.filter(({ method }) => method === 'logging/setLevel').map(({ params }) => params['level']);

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('an agent hears as much as it wants', async () => {
    const upstream = await talkative(era);
    const agent = await (await scene.tenant({ s: without(upstream) })).raw(kind);
    const isLegacy = kind === 'rawLegacy';
    expect(await heardIn(agent), 'it has not said').toEqual(isLegacy ? LEVELS : []);
    if (isLegacy) {
      const set = await (await agent.send('logging/setLevel', { level: 'warning' })).answer();
      expect(set).toMatchObject({ result: {} });
    }
    expect(await heardIn(agent, isLegacy ? {} : { [LEVEL_KEY]: 'warning' })).toEqual(['warning', 'error']);
  });

  it('its server is told, in the words of its era', async () => {
    const upstream = await talkative(era);
    const agent = await (await scene.tenant({ s: without(upstream) })).raw(kind);
    const isLegacy = kind === 'rawLegacy';
    if (isLegacy) await (await agent.send('logging/setLevel', { level: 'notice' })).answer();
    for (let nth = 0; nth < 2; nth++) await heardIn(agent, isLegacy ? {} : { [LEVEL_KEY]: 'notice' });
    const calls = upstream.messages.filter(({ method }) => method === 'tools/call');
    const told = calls.map(({ params }) => objectAt(params, '_meta')[LEVEL_KEY]);
    expect(told).toEqual(era === 'modern' ? ['notice', 'notice'] : [undefined, undefined]);
    expect(askedFor(upstream), 'once for a connection').toEqual(era === 'modern' ? [] : ['notice']);
  });
});

describe('two agents of one person on one connection', () => {
  it('hear each what it wants, and the server is asked for the most', async () => {
    const upstream = await talkative('legacy');
    const tenant = await scene.tenant({ s: without(upstream) });
    const [quiet, loud] = [await tenant.raw('rawLegacy'), await tenant.raw('rawLegacy')];
    for (const [agent, level] of [
      [quiet, 'error'],
      [loud, 'debug'],
    ] as const)
      await (await agent.send('logging/setLevel', { level })).answer();
    expect(await heardIn(quiet)).toEqual(['error']);
    expect(await heardIn(loud)).toEqual(LEVELS);
    expect(await heardIn(quiet)).toEqual(['error']);
    expect(askedFor(upstream)).toEqual(['error', 'debug']);
  });

  it.each([['loud'], [7], [null], [undefined]])('are refused the level %j, and nothing changes', async (level) => {
    const upstream = await talkative('legacy');
    const agent = await (await scene.tenant({ s: without(upstream) })).raw('rawLegacy');
    const answer = await (await agent.send('logging/setLevel', { level })).answer();
    expect(objectAt(answer, 'error')['code']).toBe(-32602);
    expect(await heardIn(agent)).toEqual(LEVELS);
  });
});

describe('a server that has no log', () => {
  it('is not asked for one', async () => {
    const upstream = await scene.keep(startScripted({ onCall: ({ result }) => result('{"content":[]}') }));
    const agent = await (await scene.tenant({ s: without(upstream) })).raw('rawLegacy');
    await (await agent.send('logging/setLevel', { level: 'info' })).answer();
    expect(await heardIn(agent)).toEqual([]);
    expect(askedFor(upstream)).toEqual([]);
  });
});
