import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import type { Credential } from '../../src/credential/credential.ts';
import { aGrantsBench, anna, server, settled, tokens, valueOf } from './grants-bench.ts';

const refusal = (code: string) => () => Promise.reject(new OAuthRefusal(code));
const unavailable = (retryAfterMs?: number) => () => Promise.reject(new OAuthUnavailable('no answer', retryAfterMs));

describe('a grant that is due', () => {
  it('is renewed once, however many ask, on however many nodes (B182)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    const others = [bench.node(), bench.node()];
    bench.clock.advance(245_000);
    const asking = [bench, ...others].flatMap(({ broker }) =>
      Array.from({ length: 20 }, async () => valueOf(await broker.find(server, anna))),
    );
    for (let n = 0; n < 20; n++) {
      await settled();
      bench.clock.advance(250);
    }
    expect(new Set(await Promise.all(asking))).toEqual(new Set(['access-2']));
    expect(bench.refreshes).toEqual([{ refreshToken: 'refresh-0' }]);
  });

  it.each([
    [230_000, 'access-0', 0],
    [240_000, 'access-2', 1],
    [299_000, 'access-2', 1],
    [301_000, 'access-2', 1],
    [361_000, 'access-2', 1],
  ])('is so a minute before its five are over, at +%i ms %s goes out (B199)', async (ms, sent, times) => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(ms);
    expect(valueOf(await bench.broker.find(server, anna))).toBe(sent);
    expect(bench.refreshes).toHaveLength(times);
  });

  it('is used as long as it lasts when it cannot be renewed, and never beyond (B195, B199)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(250_000);
    bench.answers.push(unavailable(), unavailable());
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    // Left alone for a while, not asked for with every call.
    for (let n = 0; n < 10; n++) expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    expect(bench.refreshes).toHaveLength(1);
    bench.clock.advance(50_000);
    await expect(bench.broker.find(server, anna)).rejects.toMatchObject({
      code: 'upstream_unavailable',
      data: { retryAfterMs: expect.any(Number) },
    });
    bench.clock.advance(60_000);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-4');
  });

  it('is not old from the start when it lives shortly', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 20_000 });
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    bench.clock.advance(15_999);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    bench.clock.advance(1);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-2');
  });

  it('of no lifetime at all is renewed before each use, once, and then used (B193)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 0 });
    bench.answers.push(
      async () => tokens('one', { expiresInS: 0, refreshToken: 'r1' }),
      async () => tokens('two', { expiresInS: 0, refreshToken: 'r2' }),
    );
    expect(valueOf(await bench.broker.find(server, anna))).toBe('one');
    expect(valueOf(await bench.broker.find(server, anna))).toBe('two');
    expect(bench.refreshes).toHaveLength(2);
  });

  it('without a refresh token is used to its end, and then its person is asked (B194)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 8 * 3_600_000, refreshToken: '' });
    bench.clock.advance(8 * 3_600_000 - 1);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    bench.clock.advance(1);
    expect(await bench.broker.find(server, anna)).toBeUndefined();
    expect(bench.refreshes).toEqual([]);
  });

  it('of unknown lifetime is used until it is refused, then renewed once (B192)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({});
    bench.clock.advance(30 * 24 * 3_600_000);
    const used = (await bench.broker.find(server, anna)) as Credential;
    expect(valueOf(used)).toBe('access-0');
    expect(valueOf(await bench.broker.afterRefusal(server, used))).toBe('access-2');
    expect(bench.refreshes).toHaveLength(1);
  });
});

describe('the answer to a renewal', () => {
  it('without a refresh token leaves the old one, which works again an hour later (B190)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.answers.push(async () => tokens('one'));
    bench.clock.advance(60_000);
    expect(valueOf(await bench.broker.find(server, anna))).toBe('one');
    bench.clock.advance(3_600_000);
    await bench.broker.find(server, anna);
    expect(bench.refreshes).toEqual([{ refreshToken: 'refresh-0' }, { refreshToken: 'refresh-0' }]);
  });

  it('with a new refresh token replaces the old one', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    await bench.broker.find(server, anna);
    bench.clock.advance(3_600_000);
    await bench.broker.find(server, anna);
    expect(bench.refreshes.map(({ refreshToken }) => refreshToken)).toEqual(['refresh-0', 'refresh-2']);
  });

  it('is kept and used although whoever asked for it has left (B187)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    let answer: (() => void) | undefined;
    bench.answers.push(async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return tokens('one', { refreshToken: 'r1' });
    });
    const leaving = new AbortController();
    const left = Promise.resolve(bench.broker.find(server, anna, leaving.signal));
    const stays = Promise.resolve(bench.broker.find(server, anna));
    while (answer === undefined) await settled();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    answer();
    expect(valueOf(await stays)).toBe('one');
    expect(valueOf(await bench.node().broker.find(server, anna))).toBe('one');
    expect(bench.refreshes).toHaveLength(1);
  });

  it('never undoes a sign-in that happened meanwhile, whether it is good or bad (B184)', async () => {
    for (const late of [async () => tokens('late', { refreshToken: 'r-late' }), refusal('invalid_grant')]) {
      const bench = aGrantsBench();
      await bench.signIn({ lifeMs: 60_000 });
      bench.clock.advance(60_000);
      bench.answers.push(async () => {
        await bench.signIn({ lifeMs: 7_200_000, refreshToken: 'fresh' });
        return late();
      });
      expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
      expect(valueOf(await bench.node().broker.find(server, anna))).toBe('access-0');
      expect(bench.credentials.rows).toHaveLength(1);
      bench.clock.advance(7_200_000);
      await bench.broker.find(server, anna);
      expect(bench.refreshes.at(-1)).toEqual({ refreshToken: 'fresh' });
    }
  });

  it('brings nothing back that was removed meanwhile', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    bench.answers.push(async () => {
      await bench.credentials.remove(server.tenantId, server.id, 'p:anna');
      return tokens('late');
    });
    expect(await bench.broker.find(server, anna)).toBeUndefined();
    expect(bench.credentials.rows).toEqual([]);
    expect(bench.discarded, 'nobody uses them, so nobody may').toEqual(['late']);
  });

  it('is waited for when the node stops (B189)', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    let answer: (() => void) | undefined;
    bench.answers.push(async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return tokens('one', { refreshToken: 'r1' });
    });
    const asked = Promise.resolve(bench.broker.find(server, anna));
    while (answer === undefined) await settled();
    const closed = bench.renewer.close();
    answer();
    await closed;
    expect(bench.credentials.rows[0]?.version).toBe('2');
    expect(valueOf(await asked)).toBe('one');
  });

  it('that the database cannot take at once is written when it can', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 60_000 });
    bench.clock.advance(60_000);
    const write = bench.credentials.replace.bind(bench.credentials);
    let failures = 2;
    bench.credentials.replace = (...args) => (failures-- > 0 ? Promise.reject(new Error('away')) : write(...args));
    const asked = Promise.resolve(bench.broker.find(server, anna));
    for (let n = 0; n < 30; n++) {
      await settled();
      bench.clock.advance(100);
    }
    expect(valueOf(await asked)).toBe('access-2');
    expect(bench.refreshes).toHaveLength(1);
  });
});
