// A call without a usable key, from its first try to its second.
import { describe, expect, it } from 'vitest';
import type { Credential } from '../../src/credential/credential.ts';
import { createCallTool } from '../../src/proxy/call-tool.ts';
import type { Answer, Call } from '../../src/proxy/operations.ts';
import { createShaper } from '../../src/result/shape.ts';
import { CredentialRefusedError, ProxyError } from '../../src/shared/errors.ts';
import type { JsonObject, Reply } from '../../src/wire/reply.ts';
import { readTools } from '../catalog/read-tools.ts';
import { grantOf, keyOf } from '../connection/support.ts';
import { aServer } from '../credential/in-memory.ts';
import { AnAgent, anAsking, LINK, SHOWS_LINKS, said, WAIT_MS } from './an-asking.ts';
import { aCall, aCaller, OK, settled, Upstream } from './support.ts';

function aBench(definition: JsonObject = {}) {
  const upstream = new Upstream();
  upstream.credential = undefined;
  const asking = anAsking(upstream);
  const [tool] = readTools([{ name: 'search', inputSchema: { type: 'object' } }]).tools;
  if (tool === undefined) throw new Error('the tool is good');
  const server = aServer(definition);
  const callTool = createCallTool({
    catalog: {
      find: () => ({ kind: 'tool', server, tool }),
      view: () => Promise.resolve(undefined),
      status: () => ({ state: 'ok', reason: undefined, toolCount: 0, lastError: undefined }),
    },
    connect: asking.connect,
    askSignIn: asking.askSignIn,
    withUpstream: upstream.withUpstream,
    shaper: createShaper({ name: 'keybearer', version: '1' }),
    clock: upstream.clock,
  });
  const agent = new AnAgent();
  const begin = (params: JsonObject = {}, rest: Partial<Call> = {}) => {
    const { call, signal, heard } = aCall(params, { questions: agent, ...rest });
    const calling = callTool(aCaller(), call, signal);
    calling.catch(() => undefined);
    return { call, calling, heard };
  };
  return { ...asking, agent, begin };
}

const MODERN: Partial<Call> = { era: 'modern', capabilities: SHOWS_LINKS, questions: undefined };

describe('a call that is asked in its stream', () => {
  it('says what it is about, and goes on when the person has signed in', async () => {
    const { begin, agent, signIn, upstream, timersLeft, waits } = aBench({ title: 'M\u00fcllers "Notes"' });
    const { calling, heard } = begin();
    await settled();
    const [question] = said(heard);
    expect(question).toMatchObject({
      id: 'q1',
      method: 'elicitation/create',
      params: { mode: 'url', url: LINK, message: expect.stringContaining('M\u00fcllers "Notes"') },
    });
    // The words of an upstream and ours go through one latin1 stream.
    expect(heard.messages[0]).toMatch(/^[\x20-\x7e]+$/);
    agent.answers({ action: 'accept' });
    await settled();
    expect(upstream.requests).toEqual([]);
    signIn();
    expect((await calling).kind).toBe('reply');
    expect(said(heard).map(({ method }) => method)).toEqual([
      'elicitation/create',
      'notifications/elicitation/complete',
    ]);
    expect([timersLeft(), waits.size, agent.waiting]).toEqual([0, 0, 0]);
  });

  it("has all of the server's time again after the person's", async () => {
    const { begin, signIn, upstream, clock } = aBench({ timeoutMs: 5_000 });
    upstream.outcomes = [() => new Promise<Reply>((resolve) => clock.after(4_000, () => resolve(OK)))];
    const { calling } = begin();
    await settled();
    clock.advance(60_000);
    signIn();
    await settled();
    clock.advance(4_000);
    expect((await calling).kind).toBe('reply');
  });

  it('is given the link when the time is over, and the question is taken back', async () => {
    const { begin, clock, agent, timersLeft } = aBench();
    const { calling, heard } = begin();
    await settled();
    clock.advance(WAIT_MS);
    await expect(calling).rejects.toMatchObject({ code: 'sign_in_required', data: { url: LINK } });
    expect(said(heard).at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 'q1' } });
    expect([agent.waiting, timersLeft()]).toEqual([0, 0]);
  });

  it('is told that the person said no at the server', async () => {
    const { begin, deny } = aBench();
    const { calling } = begin();
    await settled();
    deny();
    await expect(calling).rejects.toMatchObject({
      code: 'sign_in_required',
      message: expect.stringMatching(/declined.*http:\/\/127.0.0.1\/connect\/x/),
      data: { url: LINK, server: 'notes' },
    });
  });

  it('is asked once: who is refused with the new key is given the link (B173)', async () => {
    const { begin, signIn, upstream } = aBench();
    upstream.outcomes = [new CredentialRefusedError(401, undefined)];
    const { calling, heard } = begin();
    await settled();
    signIn();
    await expect(calling).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(said(heard).filter(({ method }) => method === 'elicitation/create')).toHaveLength(1);
    expect(upstream.requests).toHaveLength(1);
  });

  it('hears at once, and each fifteen seconds, that it is still open', async () => {
    const { begin, clock, signIn } = aBench();
    const { calling, heard } = begin();
    await settled();
    expect(heard.signs).toBe(1);
    clock.advance(14_999);
    expect(heard.signs).toBe(1);
    clock.advance(15_001);
    expect(heard.signs).toBe(3);
    signIn();
    await calling;
    clock.advance(60_000);
    expect(heard.signs).toBe(3);
  });

  it('ends with its agent, and leaves nothing behind', async () => {
    const { begin, agent, waits, timersLeft } = aBench();
    const { call, calling } = begin();
    await settled();
    call.abort(new ProxyError('cancelled', 'The agent went away.'));
    await expect(calling).rejects.toMatchObject({ code: 'cancelled' });
    expect([agent.waiting, waits.size, timersLeft()]).toEqual([0, 0, 0]);
  });

  it('is not asked where no more calls may wait', async () => {
    const { begin, waits } = aBench();
    waits.stop();
    const { calling, heard } = begin();
    await expect(calling).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(heard.messages).toEqual([]);
  });

  it("tells progress meanwhile, in steps that the server's own will exceed", async () => {
    const { begin, clock, signIn } = aBench();
    const { calling, heard } = begin({}, { progressToken: '"t"' });
    await settled();
    clock.advance(10_000);
    const steps = said(heard)
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params as { progress: number; progressToken: string });
    expect(steps.map(({ progress }) => progress)).toEqual([0.001, 0.002, 0.003]);
    expect(steps[0]?.progressToken).toBe('t');
    signIn();
    await calling;
  });
});

describe('a call that comes again', () => {
  const asked = async (calling: Promise<Answer>): Promise<string> => {
    const answer = await calling;
    const { requestState } = (answer as { result: { requestState?: unknown } }).result;
    return String(requestState);
  };
  const accept = { 'keybearer/sign_in': { action: 'accept' } };

  it('runs as it was at first, with what it brought for others', async () => {
    const { begin, signIn, upstream } = aBench();
    const params = { arguments: { q: 1 }, _meta: { a: 1 }, 'x-new': true };
    const requestState = await asked(begin(params, MODERN).calling);
    signIn();
    const inputResponses = { ...accept, theirs: { action: 'decline' } };
    await begin({ ...params, requestState, inputResponses }, MODERN).calling;
    expect(upstream.requests[0]?.params).toEqual({
      ...params,
      name: 'search',
      inputResponses: { theirs: { action: 'decline' } },
    });
  });

  it('brings nothing of ours to the server, not even an empty place for it', async () => {
    const { begin, signIn, upstream } = aBench();
    const requestState = await asked(begin({}, MODERN).calling);
    signIn();
    await begin({ requestState, inputResponses: accept }, MODERN).calling;
    expect(upstream.requests[0]?.params).toEqual({ name: 'search' });
  });

  it.each([[{ action: 'decline' }], [{ action: 'cancel' }], [{}], ['accept'], [null]])(
    'with %j for an answer does not run, though it could',
    async (answer) => {
      const { begin, signIn, upstream } = aBench();
      const requestState = await asked(begin({}, MODERN).calling);
      signIn();
      const inputResponses = { 'keybearer/sign_in': answer };
      await expect(begin({ requestState, inputResponses }, MODERN).calling).rejects.toMatchObject({
        data: { url: LINK },
      });
      expect(upstream.requests).toEqual([]);
    },
  );

  it('waits as long as a call may, and is then given the link; a fresh one where it has expired', async () => {
    const { begin, clock, upstream, timersLeft } = aBench();
    const requestState = await asked(begin({}, MODERN).calling);
    const before = upstream.asked;
    const again = begin({ requestState, inputResponses: accept }, MODERN).calling;
    await settled();
    clock.advance(WAIT_MS);
    await expect(again).rejects.toMatchObject({ code: 'sign_in_required', data: { url: LINK } });
    expect(upstream.asked, 'the link that it has').toBe(before);
    clock.advance(600_000 - WAIT_MS - 1);
    const late = begin({ requestState, inputResponses: accept }, MODERN).calling;
    await settled();
    clock.advance(WAIT_MS);
    await expect(late).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(upstream.asked).toBe(before + 1);
    expect(timersLeft()).toBe(0);
  });

  it('is told that the person said no at the server', async () => {
    const { begin, deny } = aBench();
    const requestState = await asked(begin({}, MODERN).calling);
    const again = begin({ requestState, inputResponses: accept }, MODERN).calling;
    await settled();
    deny();
    await expect(again).rejects.toMatchObject({ message: expect.stringContaining('declined') });
  });

  it('says nothing meanwhile when the person is done already', async () => {
    const { begin, signIn } = aBench();
    const requestState = await asked(begin({}, MODERN).calling);
    signIn();
    for (const progressToken of ['"t"', undefined]) {
      const { calling, heard } = begin({ requestState }, { ...MODERN, progressToken });
      await calling;
      expect([heard.messages, heard.signs]).toEqual([[], 0]);
    }
  });

  it('hears meanwhile that it is still open', async () => {
    const { begin, clock, signIn } = aBench();
    const first = begin({}, MODERN);
    const requestState = await asked(first.calling);
    expect(first.heard.signs, 'it waits for nobody').toBe(0);
    const { calling, heard } = begin({ requestState, inputResponses: accept }, MODERN);
    await settled();
    clock.advance(30_000);
    expect(heard.signs).toBe(3);
    signIn();
    await calling;
  });

  it('is not asked to carry more than it can: what it brought is too large', async () => {
    const { begin } = aBench();
    const params = { requestState: 'theirs', inputResponses: { a: { action: 'accept', content: 'x'.repeat(80_000) } } };
    await expect(begin(params, MODERN).calling).rejects.toMatchObject({
      code: 'sign_in_required',
      data: { url: LINK },
    });
  });

  it.each<[string, Credential, Credential]>([
    ['the version', keyOf('anna', '1'), keyOf('anna', '1')],
    [
      'the sign-in, which a renewal is none of,',
      grantOf('anna', '1', { signInId: 'first' }),
      grantOf('anna', '2', { signInId: 'first' }),
    ],
  ])('carries %s that was refused', async (_, refused, same) => {
    const { begin, upstream, signIn, waits } = aBench();
    upstream.credential = refused;
    upstream.broker.isRefused = (_server, credential) => credential === refused;
    upstream.outcomes = [new CredentialRefusedError(401, undefined)];
    const requestState = await asked(begin({}, MODERN).calling);
    // As on a node that knows of no refusal.
    upstream.broker.isRefused = () => false;
    const again = begin({ requestState, inputResponses: accept }, MODERN).calling;
    await settled();
    expect(waits.size).toBe(1);
    signIn(same);
    await settled();
    expect(waits.size).toBe(1);
    signIn('3');
    expect((await again).kind).toBe('reply');
  });
});

it('a call whose key is good asks nothing and brings up no timers', async () => {
  const { begin, upstream, timersLeft, agent } = aBench();
  upstream.credential = keyOf('anna');
  const { calling, heard } = begin();
  expect((await calling).kind).toBe('reply');
  expect([timersLeft(), agent.waiting, heard.messages, heard.signs, upstream.asked]).toEqual([0, 0, [], 0, 0]);
});
