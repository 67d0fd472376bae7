// The connect tool shows its link the way the agent can; who is connected already is asked nothing.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import {
  askable,
  askableSdk,
  inputIn,
  methodsIn,
  questionIn,
  react,
  SDK_KINDS,
  withAnswer,
} from '../support/asking.ts';
import { RAW_KINDS, type RawKind, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { postKey } from '../support/sign-in.ts';
import { within } from '../support/within.ts';

const scene = useScene();
const CONNECT = { name: 'notes__connect', arguments: {} };
const PATIENT = { name: 'notes__connect', arguments: { wait: true } };
const connected = { structuredContent: { status: 'connected', server: 'notes' } };
const notYet = { structuredContent: { status: 'sign_in_required', server: 'notes' } };

async function bobAt(kind: RawKind): Promise<{ tenant: TenantSide; bob: RawAgent }> {
  const tenant = await scene.tenant({ notes: withKeys(await scene.keyed('legacy')) });
  return { tenant, bob: await askable(scene, tenant, kind) };
}

describe('the connect tool, in a stream', () => {
  it('gives the link as soon as the person agreed to open it', async () => {
    const { bob } = await bobAt('rawLegacy');
    const response = await bob.send('tools/call', CONNECT);
    const question = await questionIn(response);
    await react(bob, question, 'accept');
    expect(await within(response.answer(), 'the answer', 1_000)).toMatchObject({
      result: { structuredContent: { ...notYet.structuredContent, url: question.url } },
    });
    await postKey(question.url, 'key-bob');
    expect(await bob.callTool('notes__connect')).toMatchObject(connected);
  });

  it('says that the person is connected when they were quicker than their agent', async () => {
    const { bob } = await bobAt('rawLegacy');
    const response = await bob.send('tools/call', CONNECT);
    await postKey((await questionIn(response)).url, 'key-bob');
    expect(await within(response.answer(), 'the answer', 2_000)).toMatchObject({ result: connected });
  });

  it('waits, with progress, when it was asked to', async () => {
    const { bob } = await bobAt('rawLegacy');
    const response = await bob.send('tools/call', { ...PATIENT, _meta: { progressToken: 'p' } });
    const question = await questionIn(response);
    await react(bob, question, 'accept');
    expect(await response.stream?.find(({ method }) => method === 'notifications/progress')).toMatchObject({
      params: { progressToken: 'p', message: expect.stringContaining(question.url) },
    });
    expect(methodsIn(response).filter((method) => String(method).startsWith('answer'))).toEqual([]);
    await postKey(question.url, 'key-bob');
    expect(await within(response.answer(), 'the answer', 2_000)).toMatchObject({ result: connected });
  });

  it.each([CONNECT, PATIENT])('gives the link when the person declines', async (params) => {
    const { bob } = await bobAt('rawLegacy');
    const response = await bob.send('tools/call', params);
    await react(bob, await questionIn(response), 'decline');
    expect(await within(response.answer(), 'the answer', 1_000)).toMatchObject({ result: notYet });
  });
});

describe('the connect tool, by a second try', () => {
  it('gives the link as soon as the person agreed to open it, and then says that they are connected', async () => {
    const { bob } = await bobAt('rawModern');
    const input = inputIn(await bob.request('tools/call', CONNECT));
    const next = withAnswer(CONNECT, input, 'accept');
    expect(await within(bob.request('tools/call', next), 'the answer', 1_000)).toMatchObject({
      structuredContent: { ...notYet.structuredContent, url: input.url },
    });
    await postKey(input.url, 'key-bob');
    expect(await bob.request('tools/call', next)).toMatchObject(connected);
  });

  it('waits when it was asked to', async () => {
    const { bob } = await bobAt('rawModern');
    const input = inputIn(await bob.request('tools/call', PATIENT));
    const next = bob.request('tools/call', withAnswer(PATIENT, input, 'accept'));
    await bob.listTools();
    await postKey(input.url, 'key-bob');
    expect(await within(next, 'the answer', 2_000)).toMatchObject(connected);
  });

  it.each([CONNECT, PATIENT])('gives the link when the person declines', async (params) => {
    const { bob } = await bobAt('rawModern');
    const input = inputIn(await bob.request('tools/call', params));
    const result = await within(bob.request('tools/call', withAnswer(params, input, 'decline')), 'the answer', 1_000);
    expect(result).toMatchObject(notYet);
  });

  it('takes no state of another tool or person (T15)', async () => {
    const { tenant, bob } = await bobAt('rawModern');
    const { requestState } = inputIn(await bob.request('tools/call', CONNECT));
    const eve = await askable(scene, tenant, 'rawModern', { principal: 'eve' });
    for (const [agent, params] of [
      [eve, CONNECT],
      [bob, PATIENT],
    ] as const)
      await expect(agent.request('tools/call', withAnswer(params, { requestState }, 'accept'))).rejects.toMatchObject({
        code: -32602,
      });
  });
});

it.each(RAW_KINDS)('the connect tool asks nothing of those who are connected already (%s)', async (kind) => {
  const { tenant, bob } = await bobAt(kind);
  await tenant.setSecret('notes', 'bob', 'key-bob');
  const response = await bob.send('tools/call', PATIENT);
  expect(response.stream).toBeUndefined();
  expect(await response.answer()).toMatchObject({ result: connected });
});

it.each(SDK_KINDS)('the connect tool waits for the person behind %s', async (kind) => {
  const { tenant } = await bobAt('rawModern');
  let shown = 0;
  const agent = await askableSdk(scene, tenant, kind, {
    onLink: async (params) => {
      shown++;
      await postKey(String(params['url']), 'key-bob');
      return 'accept';
    },
  });
  expect(await agent.callTool('notes__connect', { wait: true })).toMatchObject(connected);
  expect(shown).toBe(1);
});
