import { describe, expect, it } from 'vitest';
import { CredentialRefusedError, ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { grantOf, keyOf } from '../connection/support.ts';
import { aServer } from '../credential/in-memory.ts';
import { anAsking } from './an-asking.ts';
import { aCall, aCaller, server, settled, Upstream } from './support.ts';

function aBench() {
  const upstream = new Upstream();
  upstream.credential = undefined;
  return anAsking(upstream);
}

const WAIT = { arguments: { wait: true } };
describe('the stand-in', () => {
  it('gives the link at once, in words and as data', async () => {
    const { connect } = aBench();
    const { call, signal } = aCall();
    expect(await connect(aCaller(), server, call, signal)).toEqual({
      kind: 'result',
      result: {
        content: [
          {
            type: 'text',
            text: 'Ask the person to open this link to connect notes: http://127.0.0.1/connect/x (valid until 2023-11-14T22:23:20.000Z)',
          },
        ],
        structuredContent: {
          status: 'sign_in_required',
          server: 'notes',
          url: 'http://127.0.0.1/connect/x',
          expiresAt: '2023-11-14T22:23:20.000Z',
        },
      },
    });
  });

  it('says that one is connected already, and makes no link', async () => {
    const { connect, upstream } = aBench();
    upstream.credential = keyOf('anna');
    const { call, signal } = aCall();
    const { kind, ...rest } = await connect(aCaller(), aServer({ title: 'My notes' }), call, signal);
    expect(rest).toMatchObject({
      result: {
        content: [{ text: 'My notes is connected. Its tools can be used.' }],
        structuredContent: { status: 'connected', server: 'notes' },
      },
    });
    expect([kind, upstream.asked]).toEqual(['result', 0]);
  });

  it('B166: gives the link to one whose grant cannot be renewed now, and perhaps never again', async () => {
    const { connect, upstream } = aBench();
    upstream.broker.look = () => Promise.reject(new ProxyError('upstream_unavailable', 'not now'));
    const { call, signal } = aCall();
    expect(await connect(aCaller(), server, call, signal)).toMatchObject({
      result: { structuredContent: { status: 'sign_in_required' } },
    });
    upstream.broker.look = () => Promise.reject(new ProxyError('overloaded', 'no database'));
    await expect(connect(aCaller(), server, call, signal)).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('carries on what a refusal said, so that the next sign-in asks for it', async () => {
    const { connect, upstream, lacking } = aBench();
    const wishes: unknown[] = [];
    upstream.credential = keyOf('anna');
    upstream.broker.refusalOf = () => new CredentialRefusedError(403, 'Bearer scope="write"', ['write']);
    upstream.broker.scopesOf = () => ['read'];
    upstream.broker.askSignIn = (_server, _principal, wish) => {
      wishes.push(wish);
      return Promise.resolve(new SignInRequiredError('notes', 'http://127.0.0.1/connect/y', 0));
    };
    const { call, signal } = aCall();
    expect(await connect(aCaller(), server, call, signal)).toMatchObject({
      result: { structuredContent: { status: 'sign_in_required', url: 'http://127.0.0.1/connect/y' } },
    });
    expect([wishes, lacking]).toEqual([[{ challenge: 'Bearer scope="write"', scopes: ['write'] }], ['write']]);
  });

  it('asks nobody again within ten minutes for scopes that were asked for and are still not enough', async () => {
    const { connect, upstream, clock } = aBench();
    upstream.credential = grantOf('anna', '1', { signedInAt: clock.now() });
    upstream.broker.refusalOf = () => new CredentialRefusedError(403, 'Bearer scope="write"', ['write']);
    upstream.broker.scopesOf = () => ['read', 'write'];
    const { call, signal } = aCall();
    await expect(connect(aCaller(), server, call, signal)).rejects.toMatchObject({ code: 'denied' });
    expect(upstream.asked).toBe(0);
    clock.advance(600_000);
    expect(await connect(aCaller(), server, call, signal)).toMatchObject({
      result: { structuredContent: { status: 'sign_in_required' } },
    });
  });

  it('says what an admin has to do where no person can sign in', async () => {
    const { connect, upstream } = aBench();
    upstream.broker.askSignIn = () =>
      Promise.resolve(new ProxyError('upstream_unavailable', 'An admin has to set it.'));
    const { call, signal } = aCall(WAIT);
    await expect(connect(aCaller(), server, call, signal)).rejects.toMatchObject({ code: 'upstream_unavailable' });
  });

  it.each([[undefined], [{}], [{ wait: false }], [{ wait: 'true' }], [[]], [null]])(
    'does not wait unless it is asked to: %j',
    async (args) => {
      const { connect, timersLeft } = aBench();
      const { call, signal } = aCall({ arguments: args });
      await connect(aCaller(), server, call, signal);
      expect(timersLeft()).toBe(0);
    },
  );
});

describe('waiting for the person', () => {
  it('ends as soon as they have signed in, on whatever node', async () => {
    const { connect, signIn, timersLeft, waits } = aBench();
    const { call, signal } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    signIn();
    expect(await waiting).toMatchObject({ result: { structuredContent: { status: 'connected' } } });
    expect([timersLeft(), waits.size]).toEqual([0, 0]);
  });

  it('ends with the link when nobody comes in time', async () => {
    const { connect, clock, timersLeft, waits } = aBench();
    const { call, signal } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    clock.advance(120_000);
    expect(await waiting).toMatchObject({
      result: {
        content: [{ text: expect.stringContaining('The wait is over, and nobody has signed in to notes. Ask the') }],
        structuredContent: { status: 'sign_in_required' },
      },
    });
    expect([timersLeft(), waits.size]).toEqual([0, 0]);
  });

  it('ends when the agent leaves, and leaves nothing behind', async () => {
    const { connect, timersLeft, waits } = aBench();
    const { call, signal } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    call.abort(new ProxyError('cancelled', 'The agent went away.'));
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect([timersLeft(), waits.size]).toEqual([0, 0]);
    const again = aCall(WAIT);
    again.call.abort(new ProxyError('cancelled', 'before'));
    await expect(connect(aCaller(), server, again.call, again.signal)).rejects.toMatchObject({ message: 'before' });
    expect([timersLeft(), waits.size]).toEqual([0, 0]);
  });

  it('sees a sign-in that happened just before it began to listen', async () => {
    const { connect, upstream } = aBench();
    const { askSignIn } = upstream.broker;
    upstream.broker.askSignIn = async (...args) => {
      const asked = await askSignIn(...args);
      upstream.credential = keyOf('anna');
      return asked;
    };
    const { call, signal } = aCall(WAIT);
    expect(await connect(aCaller(), server, call, signal)).toMatchObject({
      result: { structuredContent: { status: 'connected' } },
    });
  });

  it('looks again after lost notices, and never for other people or servers', async () => {
    const { connect, upstream, changes } = aBench();
    let looks = 0;
    upstream.broker.look = () => (looks++, Promise.resolve(upstream.credential));
    const { call, signal } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    const before = looks;
    for (const other of [{ tenantId: 'umbrella' as TenantId }, { serverId: 'another' }, { owner: 'p:ben' }]) {
      changes.say({ kind: 'credentials', tenantId: server.tenantId, serverId: server.id, owner: 'p:anna', ...other });
    }
    changes.say({ kind: 'servers', tenantId: server.tenantId, serverId: server.id });
    await settled();
    expect(looks).toBe(before);
    upstream.credential = keyOf('anna');
    changes.say({ kind: 'resync' });
    expect(await waiting).toMatchObject({ result: { structuredContent: { status: 'connected' } } });
  });

  it('goes on when a look fails', async () => {
    const { connect, upstream, changes, signIn } = aBench();
    const { call, signal } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    const { look } = upstream.broker;
    upstream.broker.look = () => Promise.reject(new Error('no database'));
    changes.say({ kind: 'resync' });
    await settled();
    upstream.broker.look = look;
    signIn();
    expect(await waiting).toMatchObject({ result: { structuredContent: { status: 'connected' } } });
  });

  it('B096: shows the link at once, and progress each five seconds, to an agent that asked for it', async () => {
    const { connect, clock, signIn } = aBench();
    const { call, signal, heard } = aCall(WAIT, { progressToken: '"t"' });
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    clock.advance(11_000);
    const message = 'Waiting for the person to sign in to notes: http://127.0.0.1/connect/x';
    const steps = heard.messages.map((raw) => (JSON.parse(raw) as { params: unknown }).params);
    expect(steps).toEqual([0.001, 0.002, 0.003].map((progress) => ({ progressToken: 't', progress, message })));
    expect(heard.flushes).toBe(3);
    signIn();
    await waiting;
    clock.advance(60_000);
    expect(heard.messages).toHaveLength(3);
  });

  it('reports nothing to one that did not', async () => {
    const { connect, clock } = aBench();
    const { call, signal, heard } = aCall(WAIT);
    const waiting = connect(aCaller(), server, call, signal);
    await settled();
    clock.advance(120_000);
    await waiting;
    expect(heard.messages).toEqual([]);
  });
});
