// An agent of 2025-11-25 that can show links is asked in the middle of its call, and the same call goes on.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { resultOf } from '../support/agents/raw-result.ts';
import { askable, askableSdk, methodsIn, questionIn, react } from '../support/asking.ts';
import { ERAS, type Era, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { within } from '../support/within.ts';

const scene = useScene();

/** A tenant whose tools are known, and bob, who has no key. */
async function bobAt(era: Era = 'legacy'): Promise<{ upstream: KeyedServer; tenant: TenantSide; bob: RawAgent }> {
  const upstream = await scene.keyed(era);
  const tenant = await scene.tenant({ notes: withKeys(upstream) });
  await tenant.setSecret('notes', 'ada', 'key-ada');
  return { upstream, tenant, bob: await askable(scene, tenant, 'rawLegacy') };
}

const WHOAMI = { name: 'notes__whoami', arguments: { n: 1 } };

describe.each(ERAS)('a call without a key, over a %s server', (era) => {
  it('asks the person, and goes on by itself once they have signed in (B177)', async () => {
    const { upstream, bob } = await bobAt(era);
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    expect(question.params).toEqual({
      mode: 'url',
      elicitationId: expect.stringMatching(/^[\w-]{20,}$/),
      url: expect.stringMatching(`^${scene.app.url}/connect/`),
      message: expect.stringContaining('notes'),
    });
    expect(await react(bob, question, 'accept')).toBe(202);
    expect((await postKey(question.url, 'key-bob')).status).toBe(200);
    expect(textOf(await within(resultOf(response), 'the call to go on', 2_000))).toMatch(/^who=bob;.*args=\{"n":1\}$/);
    expect(response.stream?.messages.at(-2)).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/elicitation/complete',
      params: { elicitationId: question.elicitationId },
    });
    expect(upstream.executed.get('whoami')).toBe(1);
    expect(upstream.seen.map(({ text }) => text).join()).not.toContain(question.url);
  });
});

describe('the question in a stream', () => {
  it('is dealt with by a sign-in on another node', async () => {
    const { tenant, bob } = await bobAt();
    const node = await scene.node();
    const response = await bob.send('tools/call', WHOAMI);
    await react(bob, await questionIn(response), 'accept');
    const there = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'bob');
    expect((await postKey(linkIn(await there.callTool('notes__connect')), 'key-bob')).status).toBe(200);
    expect(textOf(await within(resultOf(response), 'the call', 2_000))).toMatch(/^who=bob;/);
  });

  it('need not be answered: the sign-in alone lets the call go on, and takes the question back', async () => {
    const { bob } = await bobAt();
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    await postKey(question.url, 'key-bob');
    await within(response.answer(), 'the call', 2_000);
    expect(response.stream?.messages.slice(1, 3)).toEqual([
      expect.objectContaining({ method: 'notifications/elicitation/complete' }),
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: question.id } },
    ]);
    expect(await react(bob, question, 'accept'), 'too late, and harmless').toBe(202);
  });

  it.each(['decline', 'cancel', 'made-up'])('that is met with %s ends with the link at once', async (action) => {
    const { upstream, bob } = await bobAt();
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    const before = upstream.counters.calls;
    await react(bob, question, action);
    expect(await within(response.answer(), 'the answer', 1_000)).toMatchObject({
      result: { isError: true, structuredContent: { error: 'sign_in_required', server: 'notes', url: question.url } },
    });
    expect(methodsIn(response)).toEqual(['elicitation/create', expect.stringContaining('answer to')]);
    expect(upstream.counters.calls).toBe(before);
    await postKey(question.url, 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami')), 'the link was good').toMatch(/^who=bob;/);
  });

  it('that the agent cannot ask ends with the link at once', async () => {
    const { bob } = await bobAt();
    const response = await bob.send('tools/call', WHOAMI);
    const { id } = await questionIn(response);
    await bob.post({ jsonrpc: '2.0', id, error: { code: -32603, message: 'no browser' } });
    expect(await within(response.answer(), 'the answer', 1_000)).toMatchObject({
      result: { structuredContent: { error: 'sign_in_required' } },
    });
  });

  it('is put again when the key is refused, with the old connection closed', async () => {
    const { upstream, bob, tenant } = await bobAt();
    await tenant.setSecret('notes', 'bob', 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    upstream.keys.delete('key-bob');
    upstream.keys.set('key-new', 'bob');
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    await react(bob, question, 'accept');
    await postKey(question.url, 'key-new');
    expect(textOf(await within(resultOf(response), 'the call', 2_000))).toMatch(/^who=bob;/);
  });

  it('comes once a call, however often the key is refused (B173)', async () => {
    const { upstream, bob, tenant } = await bobAt();
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    upstream.keys.delete('key-bob');
    // As an admin does, who does not try it first.
    await tenant.setSecret('notes', 'bob', 'key-bob');
    expect(await within(response.answer(), 'the answer', 2_000)).toMatchObject({
      result: { isError: true, structuredContent: { error: 'sign_in_required' } },
    });
    expect(methodsIn(response).filter((method) => method === 'elicitation/create')).toHaveLength(1);
    expect(question.url).toContain('/connect/');
  });

  it('is for its own session: others cannot answer it, and what was never asked is ignored', async () => {
    const { tenant, bob } = await bobAt();
    const eve = await askable(scene, tenant, 'rawLegacy', { principal: 'eve' });
    const bobToo = await askable(scene, tenant, 'rawLegacy');
    const response = await bob.send('tools/call', WHOAMI);
    const question = await questionIn(response);
    for (const other of [eve, bobToo]) expect(await react(other, question, 'decline')).toBe(202);
    expect(await react(bob, { id: 'keybearer-77' }, 'decline')).toBe(202);
    expect(await react(bob, { id: 1 }, 'decline')).toBe(202);
    const posted = { jsonrpc: '2.0', id: question.id, result: { action: 'decline' } };
    expect((await eve.post(posted, { 'mcp-session-id': bob.session })).status).toBe(404);
    await postKey(question.url, 'key-bob');
    expect(textOf(await within(resultOf(response), 'the call', 2_000))).toMatch(/^who=bob;/);
  });

  it('is not put to those who cannot show links, or hear nothing before the answer', async () => {
    const { tenant, bob } = await bobAt();
    for (const capabilities of [
      {},
      { elicitation: {} },
      { elicitation: { form: {} } },
      { elicitation: { url: true } },
    ]) {
      const agent = await askable(scene, tenant, 'rawLegacy', { capabilities });
      expect(await within(agent.callTool('notes__whoami'), 'the answer', 1_000)).toMatchObject({
        structuredContent: { error: 'sign_in_required' },
      });
    }
    const { body } = bob.compose('tools/call', WHOAMI);
    const plain = await bob.post(body, { accept: 'application/json' });
    expect(await plain.answer()).toMatchObject({ result: { structuredContent: { error: 'sign_in_required' } } });
    const params = { protocolVersion: '2025-06-18', capabilities: { elicitation: { url: {} } }, clientInfo: {} };
    const opened = await bob.post(
      { jsonrpc: '2.0', id: 0, method: 'initialize', params },
      { 'mcp-session-id': undefined, 'mcp-protocol-version': undefined },
    );
    const older = await bob.post(body, {
      'mcp-session-id': String(opened.headers['mcp-session-id']),
      'mcp-protocol-version': '2025-06-18',
    });
    expect(await older.answer(), 'URL elicitation came with 2025-11-25').toMatchObject({
      result: { structuredContent: { error: 'sign_in_required' } },
    });
  });
});

describe.each(['sdk1', 'sdk2Legacy'] as const)('the client %s', (kind) => {
  it('shows the link, and its call gives the result of the tool', async () => {
    const { tenant } = await bobAt();
    const links: string[] = [];
    const done: string[] = [];
    const agent = await askableSdk(scene, tenant, kind, {
      onLink: async (params) => {
        links.push(String(params['elicitationId']));
        await postKey(String(params['url']), 'key-bob');
        return 'accept';
      },
      onLinkDone: (id) => void done.push(id),
    });
    expect(textOf(await agent.callTool('notes__whoami', { n: 2 }))).toMatch(/^who=bob;.*\{"n":2\}$/);
    expect(done).toEqual(links);
    expect(links).toHaveLength(1);
  });

  it('is told the link when its person declines', async () => {
    const { tenant } = await bobAt();
    const agent = await askableSdk(scene, tenant, kind, { onLink: () => Promise.resolve('decline') });
    expect(await agent.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
  });
});
