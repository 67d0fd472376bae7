// What a modern agent carries for us is taken back for the very call it was made for, and for nothing else (T15).
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { askable, inputIn, withAnswer } from '../support/asking.ts';
import { type TenantSide, useScene, withKeys, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { postKey } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import type { JsonObject } from '../support/upstreams/message.ts';

const scene = useScene();

const WHOAMI = { name: 'notes__whoami', arguments: { n: 1, of: { a: 1, b: 2 } } };
const REFUSED = {
  code: -32602,
  message: 'This requestState is not valid for this call; call again without it.',
  data: { error: 'invalid_request', reason: 'invalid_request_state' },
};

async function bobAt(): Promise<{ upstream: KeyedServer; tenant: TenantSide; bob: RawAgent; state: string }> {
  const upstream = await scene.keyed('modern');
  const tenant = await scene.tenant({ notes: withKeys(upstream), other: withKeys(upstream) });
  for (const server of ['notes', 'other']) await tenant.setSecret(server, 'ada', 'key-ada');
  const bob = await askable(scene, tenant, 'rawModern');
  const input = inputIn(await bob.request('tools/call', WHOAMI));
  // From now on every try with a good state would run at once.
  expect((await postKey(input.url, 'key-bob')).status).toBe(200);
  return { upstream, tenant, bob, state: input.requestState };
}

const tryWith = async (agent: RawAgent, requestState: string, params: JsonObject = WHOAMI): Promise<unknown> =>
  (await (await agent.send('tools/call', withAnswer(params, { requestState }, 'accept'))).answer())['error'];

describe('a state', () => {
  it('is refused with the same words for whatever is wrong, and nothing runs', async () => {
    const { upstream, tenant, bob, state } = await bobAt();
    const stranger = await scene.tenant({ notes: withKeys(upstream) });
    await stranger.setSecret('notes', 'ada', 'key-ada');
    for (const server of ['notes', 'other']) await tenant.setSecret(server, 'ada', 'key-ada');
    await stranger.setSecret('notes', 'bob', 'key-bob');
    await tenant.setSecret('other', 'bob', 'key-bob');
    const [ada, bobElsewhere] = [
      await askable(scene, tenant, 'rawModern', { principal: 'ada' }),
      await askable(scene, stranger, 'rawModern'),
    ];
    await Promise.all([bob.listTools(), ada.listTools(), bobElsewhere.listTools()]);
    const before = upstream.counters.calls;
    const tries: [string, RawAgent, string, JsonObject][] = [
      ["another person's", ada, state, WHOAMI],
      ["another tenant's", bobElsewhere, state, WHOAMI],
      ["another tool's", bob, state, { ...WHOAMI, name: 'notes__slow' }],
      ["another server's", bob, state, { ...WHOAMI, name: 'other__whoami' }],
      ['for connecting', bob, state, { ...WHOAMI, name: 'notes__connect' }],
      ['with other arguments', bob, state, { ...WHOAMI, arguments: { n: 2, of: { a: 1, b: 2 } } }],
      ['without arguments', bob, state, { name: 'notes__whoami' }],
      ['made up', bob, 'kb1.AAAA', WHOAMI],
      ['empty', bob, 'kb1.', WHOAMI],
      ['longer', bob, `${state}A`, WHOAMI],
      ['in other base64', bob, `${state}=`, WHOAMI],
      ['huge', bob, `kb1.${'A'.repeat(200_000)}`, WHOAMI],
    ];
    for (const [what, agent, text, params] of tries) expect(await tryWith(agent, text, params), what).toEqual(REFUSED);
    expect(upstream.counters.calls).toBe(before);
    expect(await tryWith(bob, state), 'the real one is none the worse').toBeUndefined();
  });

  it('is refused with any of its characters changed', async () => {
    const { upstream, bob, state } = await bobAt();
    const before = upstream.counters.calls;
    const at = 'kb1.'.length;
    for (let start = at; start < state.length; start += 16) {
      const places = Array.from({ length: Math.min(16, state.length - start) }, (_, n) => start + n);
      const errors = await Promise.all(
        places.map((place) => {
          const other = state[place] === 'A' ? 'B' : 'A';
          return tryWith(bob, state.slice(0, place) + other + state.slice(place + 1));
        }),
      );
      for (const error of errors) expect(error).toEqual(REFUSED);
    }
    expect(upstream.counters.calls).toBe(before);
  });

  it('does not mind in what order the members of an argument stand', async () => {
    const { bob, state } = await bobAt();
    const swapped = { ...WHOAMI, arguments: { of: { b: 2, a: 1 }, n: 1 } };
    const result = await bob.request('tools/call', withAnswer(swapped, { requestState: state }, 'accept'));
    expect(textOf(result)).toMatch(/^who=bob;/);
  });

  it("of a server's own passes through byte for byte, with the answers that go with it", async () => {
    const theirs = 'opaque.\u00e9\u4e2d "state" kb1.';
    const upstream = await startScripted({
      era: 'modern',
      onCall: ({ params, result }) =>
        params['requestState'] === undefined
          ? result(`{"resultType":"input_required","requestState":${JSON.stringify(theirs)}}`)
          : result(
              `{"resultType":"complete","content":[{"type":"text","text":${JSON.stringify(JSON.stringify(params))}}]}`,
            ),
    });
    scene.later(() => upstream.close());
    const tenant = await scene.tenant({ s: without(upstream) });
    const bob = await askable(scene, tenant, 'rawModern');
    const first = await bob.request('tools/call', { name: 's__act', arguments: {} });
    expect(first['requestState']).toBe(theirs);
    const inputResponses = { name: { action: 'accept', content: { a: 1 } } };
    const params = { name: 's__act', arguments: {}, requestState: theirs, inputResponses };
    expect(JSON.parse(textOf(await bob.request('tools/call', params)))).toMatchObject({
      name: 'act',
      requestState: theirs,
      inputResponses,
    });
  });

  it("carries a server's own, when the key is refused between two of its questions", async () => {
    let isKeyGood = true;
    const upstream = await startScripted({
      era: 'modern',
      onCall: ({ params, result, res }) => {
        if (!isKeyGood) res.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        else if (params['requestState'] === undefined)
          result('{"resultType":"input_required","requestState":"theirs"}');
        else
          result(
            `{"resultType":"complete","content":[{"type":"text","text":${JSON.stringify(JSON.stringify(params))}}]}`,
          );
      },
    });
    scene.later(() => upstream.close());
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'bob', 'first');
    const bob = await askable(scene, tenant, 'rawModern');
    const call = { name: 's__act', arguments: { a: 1 } };
    expect((await bob.request('tools/call', call))['requestState']).toBe('theirs');
    isKeyGood = false;
    const inputResponses = { roots: { roots: [] } };
    const input = inputIn(await bob.request('tools/call', { ...call, requestState: 'theirs', inputResponses }));
    expect(input.requestState).toMatch(/^kb1\./);
    isKeyGood = true;
    await postKey(input.url, 'second');
    const seen = JSON.parse(textOf(await bob.request('tools/call', withAnswer(call, input, 'accept')))) as JsonObject;
    expect(seen).toMatchObject({ requestState: 'theirs', inputResponses, arguments: { a: 1 } });
    expect(JSON.stringify(seen)).not.toMatch(/kb1\.|keybearer\//);
  });
});
