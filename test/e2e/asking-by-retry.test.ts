// An agent of 2026-07-28 that can show links is told to ask, and comes again with what its person said.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { resultOf } from '../support/agents/raw-result.ts';
import { askable, askableSdk, inputIn, KEY, withAnswer } from '../support/asking.ts';
import { ERAS, type Era, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { within } from '../support/within.ts';

const scene = useScene();

/** A tenant whose tools are known, and bob, who has no key. */
async function bobAt(era: Era = 'modern'): Promise<{ upstream: KeyedServer; tenant: TenantSide; bob: RawAgent }> {
  const upstream = await scene.keyed(era);
  const tenant = await scene.tenant({ notes: withKeys(upstream) });
  await tenant.setSecret('notes', 'ada', 'key-ada');
  return { upstream, tenant, bob: await askable(scene, tenant, 'rawModern') };
}

const WHOAMI = { name: 'notes__whoami', arguments: { n: 1 } };

describe.each(ERAS)('a call without a key, over a %s server', (era) => {
  it('asks for input, and the next try waits for the sign-in and runs (B177)', async () => {
    const { upstream, bob } = await bobAt(era);
    const result = await bob.request('tools/call', WHOAMI);
    const input = inputIn(result);
    expect(result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        [KEY]: {
          method: 'elicitation/create',
          params: {
            mode: 'url',
            url: expect.stringMatching(`^${scene.app.url}/connect/`),
            message: expect.stringContaining('notes'),
          },
        },
      },
      requestState: expect.stringMatching(/^kb1\.[\w-]+$/),
      _meta: expect.anything(),
    });
    const next = bob.request('tools/call', withAnswer(WHOAMI, input, 'accept'));
    let isOver = false;
    void next.finally(() => (isOver = true));
    await bob.listTools();
    expect(isOver, 'it waits for the person').toBe(false);
    expect((await postKey(input.url, 'key-bob')).status).toBe(200);
    expect(textOf(await within(next, 'the call to go on', 2_000))).toMatch(/^who=bob;.*args=\{"n":1\}$/);
    expect(upstream.executed.get('whoami')).toBe(1);
    const told = upstream.seen.map(({ text }) => text).join();
    for (const ours of ['kb1.', KEY, 'requestState', 'inputResponses']) expect(told).not.toContain(ours);
  });
});

describe('the next try', () => {
  it('runs at once when the sign-in is done, on whatever node', async () => {
    const { tenant, bob } = await bobAt();
    const node = await scene.node();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    await postKey(input.url, 'key-bob');
    const there = await askable(scene, tenant, 'rawModern', { app: node });
    const answered = there.request('tools/call', withAnswer(WHOAMI, input, 'accept'));
    expect(textOf(await within(answered, 'the call', 1_000))).toMatch(/^who=bob;/);
  });

  it('waits on another node than the one that asked, and for a sign-in on the first', async () => {
    const { tenant, bob } = await bobAt();
    const node = await scene.node();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const there = await askable(scene, tenant, 'rawModern', { app: node });
    const next = there.request('tools/call', withAnswer(WHOAMI, input, 'accept'));
    await postKey(input.url, 'key-bob');
    expect(textOf(await within(next, 'the call', 2_000))).toMatch(/^who=bob;/);
  });

  it('waits for another key than the one that was refused, also where nobody knows of the refusal', async () => {
    const { upstream, tenant, bob } = await bobAt();
    await tenant.setSecret('notes', 'bob', 'key-bob');
    upstream.keys.delete('key-bob');
    upstream.keys.set('key-new', 'bob');
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const node = await scene.node();
    const there = await askable(scene, tenant, 'rawModern', { app: node });
    const before = upstream.counters.unauthorized;
    const next = there.request('tools/call', withAnswer(WHOAMI, input, 'accept'));
    await there.listTools();
    await postKey(input.url, 'key-new');
    expect(textOf(await within(next, 'the call', 2_000))).toMatch(/^who=bob;/);
    expect(upstream.counters.unauthorized).toBe(before);
  });

  it.each(['decline', 'cancel'] as const)('with %s ends with the link', async (action) => {
    const { upstream, bob } = await bobAt();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const before = upstream.counters.calls;
    const result = await within(bob.request('tools/call', withAnswer(WHOAMI, input, action)), 'the answer', 1_000);
    expect(result).toMatchObject({
      resultType: 'complete',
      isError: true,
      structuredContent: { error: 'sign_in_required', server: 'notes', url: input.url },
    });
    expect(upstream.counters.calls).toBe(before);
  });

  it('may come before the person has decided', async () => {
    const { bob } = await bobAt();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const next = bob.request('tools/call', { ...WHOAMI, requestState: input.requestState });
    await postKey(input.url, 'key-bob');
    expect(textOf(await within(next, 'the call', 2_000))).toMatch(/^who=bob;/);
  });

  it('is the last: a key that is refused once more ends with the link (B173)', async () => {
    const { upstream, tenant, bob } = await bobAt();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    upstream.keys.delete('key-bob');
    await tenant.setSecret('notes', 'bob', 'key-bob');
    expect(await bob.request('tools/call', withAnswer(WHOAMI, input, 'accept'))).toMatchObject({
      resultType: 'complete',
      structuredContent: { error: 'sign_in_required' },
    });
  });

  it('is answered with a stream at once, so that nobody takes the silence for the end of it', async () => {
    const { bob } = await bobAt();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const next = await within(bob.send('tools/call', withAnswer(WHOAMI, input, 'accept')), 'the head', 1_000);
    expect([next.status, next.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect((await postKey(input.url, 'key-bob')).status).toBe(200);
    expect(textOf(await within(resultOf(next), 'the call to go on', 2_000))).toMatch(/^who=bob;/);
  });

  it('ends when its agent leaves', async () => {
    const { bob, upstream } = await bobAt();
    const input = inputIn(await bob.request('tools/call', WHOAMI));
    const leave = new AbortController();
    const next = bob.request('tools/call', withAnswer(WHOAMI, input, 'accept'), leave.signal);
    await bob.listTools();
    leave.abort();
    await expect(next).rejects.toThrow();
    await postKey(input.url, 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    expect(upstream.executed.get('whoami')).toBe(1);
  });
});

describe('an agent of 2026-07-28', () => {
  it('that cannot show links is told the link in a result, and never -32042', async () => {
    const { tenant } = await bobAt();
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
      const agent = await askable(scene, tenant, 'rawModern', { capabilities });
      expect(await agent.callTool('notes__whoami')).toMatchObject({
        resultType: 'complete',
        structuredContent: { error: 'sign_in_required' },
      });
    }
  });

  it('by the SDK shows the link, and its call gives the result of the tool', async () => {
    const { tenant } = await bobAt();
    const links: unknown[] = [];
    const agent = await askableSdk(scene, tenant, 'sdk2Modern', {
      onLink: async (params) => {
        links.push(params['mode']);
        await postKey(String(params['url']), 'key-bob');
        return 'accept';
      },
    });
    expect(textOf(await agent.callTool('notes__whoami', { n: 2 }))).toMatch(/^who=bob;.*\{"n":2\}$/);
    expect(links).toEqual(['url']);
  });

  it('by the SDK is told the link when its person declines', async () => {
    const { tenant } = await bobAt();
    const agent = await askableSdk(scene, tenant, 'sdk2Modern', { onLink: () => Promise.resolve('decline') });
    const result = await agent.callTool('notes__whoami');
    expect(result).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(linkIn(result)).toContain('/connect/');
  });
});
