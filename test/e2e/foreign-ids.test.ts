// T15: what another was given opens nothing. Each kind of id, in the hands of each kind of stranger, is answered
// as one that never was: the same status, the same headers, the same body.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { connectRaw } from '../support/agents/raw-agent.ts';
import type { RawHeaders, RawResponse } from '../support/agents/raw-http.ts';
import { inputIn, withAnswer } from '../support/asking.ts';
import { type RawKind, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

const scene = useScene();
const CALL = { name: 's__whoami', arguments: { n: 1 } };
const SHOWS_LINKS = { capabilities: { elicitation: { url: {} } } };

interface Stranger {
  readonly key: string;
  readonly principal: string;
  readonly path: string;
}

const STRANGERS = [
  'another person',
  'another tenant',
  'another agent key',
  'a key of her own',
  'another route',
] as const;
type StrangerName = (typeof STRANGERS)[number];

let upstream: KeyedServer;
let tenant: TenantSide;
let other: TenantSide;
let strangers: Readonly<Record<StrangerName, Stranger>>;
let owner: Stranger;

const stage = async (): Promise<void> => {
  upstream = await scene.keyed('modern');
  tenant = await scene.tenant({ s: withKeys(upstream) });
  other = await scene.tenant({ s: withKeys(upstream) });
  owner = { key: tenant.key, principal: 'ada', path: '/mcp' };
  strangers = {
    'another person': { ...owner, principal: 'bob' },
    'another tenant': { ...owner, key: other.key },
    'another agent key': { ...owner, key: await scene.app.agentKey(tenant.id) },
    'a key of her own': { ...owner, key: await scene.app.agentKey(tenant.id, { principal: 'ada' }) },
    'another route': { ...owner, path: '/mcp/s' },
  };
};

/** Somebody of each tenant has signed in, so that there is a tool to ask for. */
const showTools = async (): Promise<void> => {
  for (const { id, key } of [tenant, other]) {
    const side = scene.side(id, key);
    await side.setSecret('s', 'zoe', 'key-bob');
    await (await side.raw('rawModern', 'zoe')).listTools();
  }
};

const connect = (kind: RawKind, { key, principal, path }: Stranger): Promise<RawAgent> =>
  scene.keep(
    within(
      connectRaw(kind, `${scene.app.url}${path}`, scene.app.headers({ key, principal }), SHOWS_LINKS),
      `${principal} at ${path}`,
    ),
  );

/** Everything of an answer that could tell, but for the time and for ids that each answer has. */
async function seen(response: RawResponse): Promise<unknown> {
  const { date, 'keep-alive': _, ...headers } = response.headers;
  expect(date).toBeDefined();
  const body = response.stream === undefined ? await response.text() : 'a stream';
  response.stream?.close();
  return { status: response.status, headers, body: body.replaceAll(/"id":\d+/g, '"id":0') };
}

const randomSession = (): string => randomBytes(32).toString('base64url');

const WAYS: Readonly<Record<string, (agent: RawAgent, headers: RawHeaders) => Promise<RawResponse>>> = {
  'a call': (agent, headers) => agent.post(agent.compose('tools/call', CALL).body, headers),
  'a list': (agent, headers) => agent.post(agent.compose('tools/list').body, headers),
  'a ping': (agent, headers) => agent.post(agent.compose('ping').body, headers),
  'a cancellation': (agent, headers) =>
    agent.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, headers),
  'an answer': (agent, headers) => agent.post({ jsonrpc: '2.0', id: 1, result: { action: 'accept' } }, headers),
  'an error for an answer': (agent, headers) =>
    agent.post({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }, headers),
  'a stream': (agent, headers) => agent.get(headers),
  'a stream from some event on': (agent, headers) => agent.get({ ...headers, 'last-event-id': '1' }),
  'its end': (agent, headers) => agent.delete(headers),
};

describe('the session of another', () => {
  it.each(STRANGERS)('is as good as none for %s, whatever is asked with it', async (name) => {
    await stage();
    const ada = await connect('rawLegacy', owner);
    const stranger = await connect('rawLegacy', strangers[name]);
    for (const [what, ask] of Object.entries(WAYS)) {
      const foreign = await seen(await ask(stranger, { 'mcp-session-id': ada.session }));
      const unknown = await seen(await ask(stranger, { 'mcp-session-id': randomSession() }));
      expect(foreign, what).toEqual(unknown);
      expect(unknown, what).toMatchObject({ status: 404 });
    }
    expect((await ada.send('tools/list')).status, 'it is still hers').toBe(200);
    expect((await stranger.send('tools/list')).status).toBe(200);
  });

  it('is as good as none for its own key too, once that is taken away', async () => {
    await stage();
    const reply = await scene.app.adminOk('POST', `/tenants/${tenant.id}/keys`, { name: 'gone', principal: 'ada' });
    const gone = { ...owner, key: String(reply['key']) };
    const agent = await connect('rawLegacy', gone);
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/keys/${String(reply['id'])}`);
    for (const [what, ask] of Object.entries(WAYS)) {
      const foreign = await seen(await ask(agent, {}));
      expect(foreign, what).toEqual(await seen(await ask(agent, { 'mcp-session-id': randomSession() })));
      expect(foreign, what).toMatchObject({ status: 401 });
    }
  });
});

describe('an event id', () => {
  it('says nothing: no event is kept, nobody’s is played again', async () => {
    await stage();
    const ada = await connect('rawLegacy', owner);
    const heads = [];
    for (const id of [undefined, '1', randomSession(), String(ada.session)]) {
      const { stream, ...response } = await ada.get({ 'last-event-id': id });
      await stream?.until(() => stream.text !== '', 'the greeting');
      heads.push([response.status, stream?.text]);
    }
    for (const head of heads) expect(head).toEqual(heads[0]);
  });
});

describe('what a modern agent carries for another', () => {
  it.each(STRANGERS.filter((name) => name !== 'another route'))('is refused to %s like one made up', async (name) => {
    await stage();
    await showTools();
    const ada = await connect('rawModern', owner);
    const { requestState } = inputIn(await ada.request('tools/call', CALL));
    const stranger = await connect('rawModern', strangers[name]);
    // Theirs is asked for too, so that the two answers differ in nothing but the state.
    await stranger.request('tools/call', CALL);
    const tryWith = async (agent: RawAgent, state: string, params: JsonObject = CALL): Promise<unknown> =>
      seen(await agent.send('tools/call', withAnswer(params, { requestState: state }, 'accept')));
    const foreign = await tryWith(stranger, requestState);
    const random = Buffer.from(randomBytes(Buffer.from(requestState.slice(4), 'base64url').length));
    expect(foreign).toEqual(await tryWith(stranger, `kb1.${random.toString('base64url')}`));
    expect(JSON.stringify(foreign)).toContain('invalid_request_state');
    expect(upstream.counters.calls).toBe(0);
  });
});

describe('the id of another’s request', () => {
  it.each(STRANGERS.slice(0, 4))('ends neither the call nor the subscription when cancelled by %s', async (name) => {
    await stage();
    await tenant.setSecret('s', 'ada', 'key-ada');
    const ada = await connect('rawModern', owner);
    await ada.listTools();
    const { body, headers } = ada.compose('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const { stream } = await ada.post({ ...body, id: 'mine' }, headers);
    await stream?.nth(1);
    const slow = ada.compose('tools/call', { name: 's__slow', arguments: { ms: 300 } });
    const answer = ada.post({ ...slow.body, id: 'call' }, slow.headers);
    await upstream.until(() => upstream.executed.get('slow') === 1, 'the call to run');
    for (const kind of ['rawModern', 'rawLegacy'] as const) {
      const stranger = await connect(kind, strangers[name]);
      for (const requestId of ['mine', 'call', 'never', 1])
        expect(await stranger.notify('notifications/cancelled', { requestId })).toBe(202);
    }
    expect(await (await answer).answer()).toMatchObject({ id: 'call', result: { structuredContent: { who: 'ada' } } });
    expect(stream?.hasEnded).toBe(false);
    stream?.close();
  });
});
