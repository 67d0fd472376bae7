// What an agent can do is told to a server only where the agent would understand what the server then asks.
import { expect, it } from 'vitest';
import { connectRaw } from '../support/agents/raw-agent.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { CAPABILITIES_KEY } from '../support/upstreams/revisions.ts';

const scene = useScene();
const CAN = { elicitation: { form: {} } };

it.each(RAW_KINDS)('B133: a modern server hears of the capabilities of modern agents only: %s', async (kind) => {
  const upstream = await scene.keep(
    startScripted({ era: 'modern', onCall: ({ result }) => result('{"resultType":"complete","content":[]}') }),
  );
  const tenant = await scene.tenant({ s: without(upstream) });
  const headers = { authorization: `Bearer ${tenant.key}`, 'keybearer-principal': 'ada' };
  const agent = await scene.keep(connectRaw(kind, `${scene.app.url}/mcp`, headers, { capabilities: CAN }));
  await agent.callTool('s__act');
  const call = upstream.messages.find(({ method }) => method === 'tools/call');
  expect(objectAt(call?.params ?? {}, '_meta')[CAPABILITIES_KEY]).toEqual(kind === 'rawModern' ? CAN : {});
});

it('a modern server may ask a modern agent, whose answer reaches it with the next try', async () => {
  const asking =
    '{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"st"}';
  const upstream = await scene.keep(
    startScripted({
      era: 'modern',
      onCall: ({ params, result }) =>
        result(params['inputResponses'] === undefined ? asking : '{"resultType":"complete","content":[]}'),
    }),
  );
  const tenant = await scene.tenant({ s: without(upstream) });
  const headers = { authorization: `Bearer ${tenant.key}`, 'keybearer-principal': 'ada' };
  const agent = await scene.keep(connectRaw('rawModern', `${scene.app.url}/mcp`, headers, { capabilities: CAN }));
  const first = await agent.request('tools/call', { name: 's__act', arguments: {} });
  expect(first).toMatchObject({ resultType: 'input_required', requestState: 'st' });
  const inputResponses = { q: { action: 'accept', content: {} } };
  await agent.request('tools/call', { name: 's__act', arguments: {}, inputResponses, requestState: 'st' });
  expect(upstream.messages.at(-1)?.params).toMatchObject({ inputResponses, requestState: 'st' });
});
