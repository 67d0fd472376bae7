import { describe, expect, it } from 'vitest';
import type { SignInOutcome, WaitedFor } from '../../src/proxy/wait-for-sign-in.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { grantOf, keyOf } from '../connection/support.ts';
import { aServer } from '../credential/in-memory.ts';
import { anAsking } from './an-asking.ts';
import { aCaller, server, settled, Upstream } from './support.ts';

function aBench() {
  const upstream = new Upstream();
  upstream.credential = undefined;
  const asking = anAsking(upstream);
  const wait = (more: Partial<WaitedFor> = {}, { signal } = new AbortController()): Promise<SignInOutcome> =>
    asking.waits.wait({ caller: aCaller(), server, forMs: 120_000, ...more }, signal);
  return { ...asking, wait };
}

describe('a wait for a sign-in', () => {
  it('ends as denied for the person who said no, at that server, and for nobody else (B165)', async () => {
    const { wait, waits, changes, deny, timersLeft } = aBench();
    const mine = wait();
    const others = [wait({ caller: aCaller('ben') }), wait({ server: aServer({}, { name: 'other', id: 'another' }) })];
    changes.say({ kind: 'sign_in_denied', tenantId: 'umbrella' as TenantId, serverId: server.id, owner: 'p:anna' });
    expect(waits.size).toBe(3);
    deny();
    expect(await mine).toBe('denied');
    expect(waits.size).toBe(2);
    waits.stop();
    expect(await Promise.all(others)).toEqual(['not_yet', 'not_yet']);
    expect(timersLeft()).toBe(0);
  });

  it('is for another version than the one that was refused', async () => {
    const { wait, waits, signIn } = aBench();
    const waiting = wait({ refused: '1' });
    signIn('1');
    await settled();
    expect(waits.size).toBe(1);
    signIn('2');
    expect(await waiting).toBe('signed_in');
  });

  it('is not ended by a renewal of what was refused, on whatever node it was refused', async () => {
    const { wait, waits, signIn, upstream } = aBench();
    const grant = (version: string, signInId: string) => grantOf('anna', version, { signInId });
    upstream.broker.isRefused = (_server, found) => found.kind === 'static' && found.version === '1';
    upstream.credential = grant('1', 'first');
    const all = [wait(), wait({ refused: 'first' })];
    await settled();
    signIn(grant('2', 'first'));
    await settled();
    expect(waits.size).toBe(2);
    expect(await waits.isThere({ caller: aCaller(), server, refused: 'first' })).toBe(false);
    signIn(grant('3', 'second'));
    expect(await Promise.all(all)).toEqual(['signed_in', 'signed_in']);
    expect(await waits.isThere({ caller: aCaller(), server, refused: 'first' })).toBe(true);
  });

  it('is for a credential that the server took, or has not seen', async () => {
    const { wait, waits, signIn, upstream } = aBench();
    upstream.broker.isRefused = (_server, found) => found.kind === 'static' && found.version === '1';
    const waiting = wait();
    signIn('1');
    await settled();
    expect(waits.size).toBe(1);
    signIn('2');
    expect(await waiting).toBe('signed_in');
  });

  it('ends early when it is told to', async () => {
    const { wait, timersLeft } = aBench();
    expect(await wait({ until: Promise.resolve() })).toBe('not_yet');
    expect(timersLeft()).toBe(0);
  });

  it('ends when the node stops; from then on nobody waits, but who is signed in hears so', async () => {
    const { wait, waits, upstream, changes, timersLeft } = aBench();
    const waiting = wait();
    waits.stop();
    expect(await waiting).toBe('not_yet');
    expect(await wait()).toBe('not_yet');
    upstream.credential = keyOf('anna');
    expect(await wait()).toBe('signed_in');
    expect([waits.size, waits.hasRoom(server.tenantId), changes.listeners, timersLeft()]).toEqual([0, false, 0, 0]);
  });

  it('is for a thousand calls of a tenant at a time, and no tenant takes the room of another', async () => {
    const { wait, waits } = aBench();
    const all = Array.from({ length: 1_000 }, () => wait());
    expect(waits.hasRoom(server.tenantId)).toBe(false);
    expect(await wait()).toBe('not_yet');
    const umbrella = 'umbrella' as TenantId;
    expect(waits.hasRoom(umbrella)).toBe(true);
    const elsewhere = wait({ caller: { ...aCaller(), tenantId: umbrella } });
    expect(waits.size).toBe(1_001);
    waits.stop();
    await Promise.all([...all, elsewhere]);
  });

  it('gives its room back, however it ends', async () => {
    const { wait, waits, clock, deny, signIn } = aBench();
    const leaving = new AbortController();
    const all = [wait({ forMs: 10 }), wait({ until: Promise.resolve() }), wait({}, leaving)];
    all[2]?.catch(() => undefined);
    clock.advance(10);
    leaving.abort(new Error('left'));
    await Promise.allSettled(all);
    const denied = wait();
    deny();
    await denied;
    const signedIn = wait();
    signIn();
    await signedIn;
    expect(waits.size).toBe(0);
  });
});
