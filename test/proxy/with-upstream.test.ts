import { describe, expect, it } from 'vitest';
import { CredentialRefusedError, NotRunError, ProxyError } from '../../src/shared/errors.ts';
import { keyOf } from '../connection/support.ts';
import { NEVER, OK, type Outcome, server, Upstream } from './support.ts';

const refused = new CredentialRefusedError(401, undefined);
const lacks = new CredentialRefusedError(403, undefined, ['write']);
const notRun = new NotRunError('The server has forgotten the session.');
const busy = new NotRunError('Too many requests.', { waitMs: 1_000, mayRetryNow: false });
const broke = new ProxyError('upstream_unavailable', 'The connection broke; the request may have run.');
const nonsense = new ProxyError('upstream_protocol', 'Not JSON.');
const surprise = new Error('a bug of ours');

interface Case {
  readonly happens: string;
  readonly outcomes: readonly Outcome[];
  readonly hasNewer?: boolean;
  /** How often the server was sent the request. */
  readonly sent: number;
  readonly ends: 'well' | 'sign_in_required' | Error;
}

const CASES: readonly Case[] = [
  { happens: 'all is well', outcomes: [OK], sent: 1, ends: 'well' },
  // It did not run, and there is something better to try it with.
  {
    happens: 'the credential is refused and a newer one is there',
    outcomes: [refused, OK],
    hasNewer: true,
    sent: 2,
    ends: 'well',
  },
  {
    happens: 'the newer one is refused as well',
    outcomes: [refused, refused],
    hasNewer: true,
    sent: 2,
    ends: 'sign_in_required',
  },
  { happens: 'the newer one meets a lost session', outcomes: [refused, notRun], hasNewer: true, sent: 2, ends: notRun },
  { happens: 'the newer one breaks on the way', outcomes: [refused, broke], hasNewer: true, sent: 2, ends: broke },
  // It did not run, and a new connection may do.
  { happens: 'the session was lost', outcomes: [notRun, OK], sent: 2, ends: 'well' },
  { happens: 'it was lost again', outcomes: [notRun, notRun], sent: 2, ends: notRun },
  { happens: 'it breaks the second time', outcomes: [notRun, broke], sent: 2, ends: broke },
  {
    happens: 'the credential is refused the second time and none is newer',
    outcomes: [notRun, refused],
    sent: 2,
    ends: 'sign_in_required',
  },
  // What met a lost session reached nobody, so the refusal is the first answer, and one more try is due (§6.5).
  {
    happens: 'it is refused the second time and a newer one is there',
    outcomes: [notRun, refused, OK],
    hasNewer: true,
    sent: 3,
    ends: 'well',
  },
  {
    happens: 'the newer one is refused after a lost session as well',
    outcomes: [notRun, refused, refused],
    hasNewer: true,
    sent: 3,
    ends: 'sign_in_required',
  },
  {
    happens: 'the newer one meets a lost session again',
    outcomes: [notRun, refused, notRun],
    hasNewer: true,
    sent: 3,
    ends: notRun,
  },
  {
    happens: 'the newer one breaks on the way after a lost session',
    outcomes: [notRun, refused, broke],
    hasNewer: true,
    sent: 3,
    ends: broke,
  },
  {
    happens: 'a scope is missing after a lost session: newer ones bring the same',
    outcomes: [notRun, lacks],
    hasNewer: true,
    sent: 2,
    ends: 'sign_in_required',
  },
  // It did not run, but there is nothing to gain.
  { happens: 'the credential is refused and none is newer', outcomes: [refused], sent: 1, ends: 'sign_in_required' },
  { happens: 'the server asked to wait', outcomes: [busy], sent: 1, ends: busy },
  // It may have run.
  { happens: 'the connection breaks', outcomes: [broke], sent: 1, ends: broke },
  { happens: 'the answer makes no sense', outcomes: [nonsense], sent: 1, ends: nonsense },
  { happens: 'something else goes wrong', outcomes: [surprise], sent: 1, ends: surprise },
];

describe('a request', () => {
  it.each(CASES)('B035: is sent $sent times when $happens', async ({ outcomes, hasNewer, sent, ends }) => {
    const upstream = new Upstream();
    upstream.outcomes = [...outcomes];
    if (hasNewer === true) upstream.stored = keyOf('anna', '2');
    const answer = upstream.call();
    if (ends === 'well') await expect(answer).resolves.toBe(OK);
    else if (ends === 'sign_in_required') await expect(answer).rejects.toMatchObject({ code: 'sign_in_required' });
    else await expect(answer).rejects.toBe(ends);
    expect(upstream.requests).toHaveLength(sent);
    expect(upstream.asked).toBe(ends === 'sign_in_required' ? 1 : 0);
    // Whatever happened, no place is kept.
    expect(upstream.pool.list(server.tenantId).every(({ inFlight }) => inFlight === 0)).toBe(true);
  });

  it('B037: goes with the newer credential the second time', async () => {
    const upstream = new Upstream();
    upstream.outcomes = [refused, OK];
    upstream.stored = keyOf('anna', '4');
    await upstream.call();
    expect(upstream.connections.map(({ credential }) => credential.kind === 'static' && credential.version)).toEqual([
      '1',
      '4',
    ]);
  });

  it('B221: leaves no connection that was opened with a refused credential', async () => {
    const upstream = new Upstream();
    upstream.outcomes = [refused];
    await upstream.call().catch(() => undefined);
    expect(upstream.connections.map(({ isClosed }) => isClosed)).toEqual([true]);
    expect(upstream.pool.size).toBe(0);
  });

  it('keeps a connection that only met a lost session of its own or a busy server', async () => {
    const upstream = new Upstream();
    upstream.outcomes = [busy, OK];
    await upstream.call().catch(() => undefined);
    await upstream.call();
    expect(upstream.connections).toHaveLength(1);
  });

  it('is tried again when the dial did not get through, and refused dials ask to sign in', async () => {
    const upstream = new Upstream();
    upstream.dialFailures = [notRun];
    await expect(upstream.call()).resolves.toBe(OK);
    const other = new Upstream();
    other.dialFailures = [refused];
    await expect(other.call()).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(other.requests).toHaveLength(0);
  });

  it('B099: is remembered as refused wherever the server said so, connecting included', async () => {
    for (const where of ['outcomes', 'dialFailures'] as const) {
      const upstream = new Upstream();
      const told: unknown[] = [];
      upstream.broker.refused = (_server, credential) => told.push(credential);
      upstream[where] = [refused];
      await expect(upstream.call(), where).rejects.toMatchObject({ code: 'sign_in_required' });
      expect(told, where).toEqual([keyOf('anna', '1')]);
    }
  });

  it('is not sent again for an agent that has left', async () => {
    for (const error of [notRun, refused]) {
      const upstream = new Upstream();
      const leaver = new AbortController();
      upstream.stored = keyOf('anna', '2');
      upstream.outcomes = [() => (leaver.abort(new Error('left')), Promise.reject(error))];
      await expect(upstream.call(leaver.signal)).rejects.toBe(error);
      expect(upstream.requests).toHaveLength(1);
    }
  });
});

describe('a request without a credential', () => {
  it('is not sent: the person is asked', async () => {
    const upstream = new Upstream();
    upstream.credential = undefined;
    await expect(upstream.call()).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(upstream.connections).toEqual([]);
  });

  it('is sent when the person has just signed in on another node', async () => {
    const upstream = new Upstream();
    upstream.credential = undefined;
    upstream.stored = keyOf('anna', '1');
    await expect(upstream.call()).resolves.toBe(OK);
  });

  it("on nobody's behalf says that an admin has to act", async () => {
    const upstream = new Upstream();
    upstream.credential = undefined;
    await expect(upstream.withUpstream(server, undefined, NEVER, () => Promise.resolve(1))).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
    expect(upstream.asked).toBe(0);
  });
});
