import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import type { Credential } from '../../src/credential/credential.ts';
import { aGrantsBench, anna, ofAnna, server, settled, valueOf } from './grants-bench.ts';
import { aServer } from './in-memory.ts';

const refusal = (code: string) => () => Promise.reject(new OAuthRefusal(code));
const unavailable = (retryAfterMs?: number) => () => Promise.reject(new OAuthUnavailable('no answer', retryAfterMs));

describe('a renewal that fails', () => {
  it.each([
    ['no answer', unavailable()],
    ['an answer that asks to wait', unavailable(7_000)],
  ])('by %s loses nothing: the call is told to come later, and then it works (B195)', async (_, answer) => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.answers.push(answer);
    await expect(bench.broker.find(server, anna)).rejects.toMatchObject({ code: 'upstream_unavailable' });
    // Not asked again before its time, on no node.
    await expect(bench.broker.find(server, anna)).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await expect(bench.node().broker.find(server, anna)).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect(bench.refreshes).toHaveLength(1);
    bench.clock.advance(7_000);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-3');
    expect(bench.refreshes.map(({ refreshToken }) => refreshToken)).toEqual(['refresh-0', 'refresh-0']);
  });

  it('waits longer each time, a minute at most', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 1_000 });
    bench.clock.advance(1_000);
    const pauses: unknown[] = [];
    for (let n = 0; n < 8; n++) {
      bench.answers.push(unavailable());
      const error = await Promise.resolve(bench.broker.find(server, anna)).catch((thrown: unknown) => thrown);
      const { retryAfterMs } = (error as { data: { retryAfterMs: number } }).data;
      pauses.push(retryAfterMs);
      bench.clock.advance(retryAfterMs);
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('because the grant is dead asks its person, and asks the server no more (T10)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.answers.push(refusal('invalid_grant'));
    for (const { broker } of [bench, bench, bench.node()]) expect(await broker.find(server, anna)).toBeUndefined();
    expect(bench.refreshes).toHaveLength(1);
    await bench.signIn({ lifeMs: 60_000 });
    bench.changes.say({ kind: 'credentials', tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' });
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
  });

  it.each(['invalid_request', 'invalid_token', 'temporarily_broken'])(
    'by "%s" is believed to mean the grant when it comes twice, a minute apart (B197)',
    async (code) => {
      const bench = aGrantsBench();
      await bench.signIn({ lifeMs: 60_000 });
      bench.clock.advance(60_000);
      bench.answers.push(refusal(code), refusal(code));
      await expect(bench.broker.find(server, anna)).rejects.toMatchObject({ code: 'upstream_unavailable' });
      bench.clock.advance(59_999);
      await expect(bench.broker.find(server, anna)).rejects.toMatchObject({ code: 'upstream_unavailable' });
      expect(bench.refreshes).toHaveLength(1);
      bench.clock.advance(1);
      expect(await bench.broker.find(server, anna)).toBeUndefined();
      expect(bench.refreshes).toHaveLength(2);
      expect(bench.credentials.rows).toHaveLength(1);
    },
  );

  it('because our registration is gone forgets it, and its person is asked (B207)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.answers.push(refusal('invalid_client'));
    expect(await bench.broker.find(server, anna)).toBeUndefined();
    expect(bench.forgotten).toEqual(['us']);
  });

  it('is not even tried with another client than the grant was given to (B207)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.isRegistered.value = false;
    expect(await bench.broker.find(server, anna)).toBeUndefined();
    expect(bench.refreshes).toEqual([]);
  });

  it('in our own code says so and keeps the grant', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.answers.push(() => Promise.reject(new TypeError('a fault of ours')));
    await expect(bench.broker.find(server, anna)).rejects.toThrow('a fault of ours');
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-3');
  });
});

describe('a refused credential', () => {
  it('is renewed once in half a minute, whatever the server says (T10)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 3_600_000 });
    let used = (await bench.broker.find(server, anna)) as Credential;
    used = (await bench.broker.afterRefusal(server, used)) as Credential;
    expect(valueOf(used)).toBe('access-2');
    for (let n = 0; n < 5; n++) expect(await bench.broker.afterRefusal(server, used)).toBeUndefined();
    bench.clock.advance(29_999);
    expect(await bench.broker.afterRefusal(server, used)).toBeUndefined();
    expect(bench.refreshes).toHaveLength(1);
    bench.clock.advance(1);
    expect(valueOf(await bench.broker.afterRefusal(server, used))).toBe('access-3');
  });

  it('is followed by what another node renewed, without another renewal (B221)', async () => {
    const bench = aGrantsBench();
    const other = bench.node();
    await bench.signIn({ lifeMs: 3_600_000 });
    const [mine, theirs] = [await bench.broker.find(server, anna), await other.broker.find(server, anna)];
    expect(valueOf(await bench.broker.afterRefusal(server, mine as Credential))).toBe('access-2');
    expect(valueOf(await other.broker.afterRefusal(server, theirs as Credential))).toBe('access-2');
    expect(bench.refreshes).toHaveLength(1);
  });

  it('is never renewed for another place than it was given for (T11)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    const used = (await bench.broker.find(server, anna)) as Credential;
    for (const moved of [
      aServer({ url: 'https://evil.example/mcp', credential: { kind: 'oauth' } }),
      aServer({ credential: { kind: 'oauth', header: 'x-key' } }),
      aServer({ credential: { kind: 'oauth', oauth: { issuer: 'https://other.example' } } }),
      aServer({ credential: { kind: 'oauth', oauth: { resource: 'https://other.example/mcp' } } }),
      aServer({ credential: { kind: 'oauth', oauth: { clientId: 'other' } } }),
    ]) {
      expect(await bench.broker.find(moved, anna)).toBeUndefined();
      expect(await bench.broker.afterRefusal(moved, used)).toBeUndefined();
    }
    expect(bench.refreshes).toEqual([]);
  });
});

describe('a lease', () => {
  it('of a node that died holds the grant up for half a minute, little longer, and is looked at seldom', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    const key = { tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' };
    await bench.renewals.acquire(key, 'the dead', 30_000);
    let looks = 0;
    const acquire = bench.renewals.acquire.bind(bench.renewals);
    bench.renewals.acquire = (...args) => (looks++, acquire(...args));
    const asked = Promise.resolve(bench.broker.find(server, anna));
    for (let n = 0; n < 119; n++) {
      await settled();
      bench.clock.advance(250);
    }
    await settled();
    expect(bench.refreshes).toEqual([]);
    for (let n = 0; n < 16; n++) {
      bench.clock.advance(250);
      await settled();
    }
    expect(valueOf(await asked)).toBe('access-2');
    expect(looks).toBeLessThan(15);
  });

  it('that passed to another node cannot be given back by the first', async () => {
    const bench = aGrantsBench();
    const key = { tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' };
    await bench.renewals.acquire(key, 'first', 10);
    bench.clock.advance(5);
    expect(await bench.renewals.acquire(key, 'second', 20)).toBeUndefined();
    bench.clock.advance(5);
    expect(await bench.renewals.acquire(key, 'second', 20)).toBeDefined();
    const state = { version: '1', spent: true, refusals: 0, failures: 0, retryAt: undefined, renewedAt: undefined };
    await bench.renewals.release(key, 'first', state);
    expect(await bench.renewals.acquire(key, 'third', 30)).toBeUndefined();
  });

  it('is kept by owners apart: two people with equal tokens are renewed each', async () => {
    const bench = aGrantsBench();
    expect(ofAnna.kind).toBe('principal');
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    await bench.broker.find(server, anna);
    expect([...bench.renewals.rows.keys()]).toEqual([`acme\u0000${server.id}\u0000p:anna`]);
  });
});
