import { describe, expect, it } from 'vitest';
import { createRequestStates, isOurState, type SignInState, type StateOf } from '../../src/proxy/request-state.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { aServer, aVault } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aCaller, server } from './support.ts';

const STATE: SignInState = {
  url: 'http://127.0.0.1/connect/x',
  linkExpiresAt: 7,
  refused: '1',
  resumes: { requestState: 's' },
};
const OF: StateOf = { caller: aCaller(), server, tool: 'search', params: { arguments: { q: 1 } } };

function aBench() {
  const clock = new FakeClock();
  const vault = aVault();
  return { clock, vault, states: createRequestStates(vault, clock) };
}

const sealed = async (states: ReturnType<typeof createRequestStates>, of = OF, state = STATE): Promise<string> =>
  (await states.seal(of, state)) ?? '';

describe('a state', () => {
  it('says nothing, and gives back what was sealed in it', async () => {
    const { states } = aBench();
    const text = await sealed(states);
    expect(isOurState(text)).toBe(true);
    expect(Buffer.from(text.slice(4), 'base64url').toString('latin1')).not.toContain('127.0.0.1');
    expect(await states.open(OF, text)).toEqual(STATE);
    expect(await sealed(states)).not.toBe(text);
  });

  it('is good for ten minutes', async () => {
    const { states, clock } = aBench();
    const text = await sealed(states);
    clock.advance(10 * 60_000 - 1);
    await states.open(OF, text);
    clock.advance(1);
    await expect(states.open(OF, text)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'This requestState is not valid for this call; call again without it.',
    });
  });

  it.each<[string, Partial<StateOf>]>([
    ['another person', { caller: aCaller('ben') }],
    ['another server', { server: aServer({}, { name: 'other', id: 'another' }) }],
    ['another tool', { tool: 'delete' }],
    ['the tool that connects', { tool: undefined }],
    ['other arguments', { params: { arguments: { q: 2 } } }],
    ['arguments of another type', { params: { arguments: { q: '1' } } }],
    ['no arguments', { params: {} }],
  ])('is not for %s (T15)', async (_, other) => {
    const { states } = aBench();
    await expect(states.open({ ...OF, ...other }, await sealed(states))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('of a tool that is called connect is not for the tool that connects', async () => {
    const { states } = aBench();
    const text = await sealed(states, { ...OF, tool: 'connect' });
    await expect(states.open({ ...OF, tool: undefined }, text)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('goes by what the arguments say, not by the order in which they stand', async () => {
    const { states } = aBench();
    const text = await sealed(states, { ...OF, params: { arguments: { a: [{ b: 1, c: 2 }], d: null } } });
    await states.open({ ...OF, params: { arguments: { d: null, a: [{ c: 2, b: 1 }] } } }, text);
    const swapped = { ...OF, params: { arguments: { d: null, a: [{ c: 1, b: 2 }] } } };
    await expect(states.open(swapped, text)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('is not made where it would be too large, nor looked at', async () => {
    const { states } = aBench();
    const large = { ...STATE, resumes: { requestState: 'x'.repeat(60_000) } };
    expect(await states.seal(OF, large)).toBeUndefined();
    const fitting = { ...STATE, resumes: { requestState: 'x'.repeat(40_000) } };
    expect(await states.open(OF, await sealed(states, OF, fitting))).toEqual(fitting);
  });

  it('is not called wrong when the database does not answer', async () => {
    const { states, vault, clock } = aBench();
    const down = new ProxyError('overloaded', 'The database does not answer at the moment.');
    const offline = createRequestStates({ seal: vault.seal, open: () => Promise.reject(down) }, clock);
    await expect(offline.open(OF, await sealed(states))).rejects.toBe(down);
  });

  it.each([[undefined], [7], [{}], ['kb1'], ['KB1.x'], [' kb1.x'], ['theirs']])('is not what %j is', (value) => {
    expect(isOurState(value)).toBe(false);
  });
});
