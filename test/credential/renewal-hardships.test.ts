// What a renewal goes through between nodes, databases and people: nothing is lost, nobody is held up.
import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import { aGrant, aGrantsBench, anna, ofAnna, server, settled, tokens, valueOf } from './grants-bench.ts';

const key = { tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' };

describe('a renewal', () => {
  it('whose result the database cannot take for long is used all the same, and written when it can be', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(301_000);
    const replace = bench.credentials.replace.bind(bench.credentials);
    bench.credentials.replace = () => Promise.reject(new Error('away'));
    bench.answers.push(
      async () => tokens('renewed', { refreshToken: 'refresh-1' }),
      () => Promise.reject(new OAuthRefusal('invalid_grant')),
    );
    const first = Promise.resolve(bench.broker.find(server, anna));
    for (let n = 0; n < 30; n++) {
      await settled();
      bench.clock.advance(100);
    }
    expect(valueOf(await first)).toBe('renewed');
    bench.clock.advance(5_000);
    expect(valueOf(await bench.broker.find(server, anna)), 'the spent refresh token is not sent again').toBe('renewed');
    bench.credentials.replace = replace;
    for (let n = 0; n < 3; n++) {
      await settled();
      bench.clock.advance(1_000);
    }
    await settled();
    expect(valueOf(await bench.node().broker.find(server, anna)), 'on every node').toBe('renewed');
    expect(bench.refreshes).toHaveLength(1);
  });

  it('that a sign-in overtook ends none of its tokens: many servers would end the new ones too', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(301_000);
    bench.answers.push(async () => {
      const now = bench.clock.now();
      await bench.keeper.keep(server, ofAnna, bindingOf(server), aGrant(now, { lifeMs: 3_600_000 }), now);
      return tokens('late', { refreshToken: 'refresh-late' });
    });
    expect(valueOf(await bench.broker.find(server, anna))).toBe('access-0');
    expect(bench.discarded).toEqual([]);
  });

  it('that takes long holds up no call whose token is still good', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(245_000);
    let answer: () => void = () => undefined;
    bench.answers.push(async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return tokens('renewed', { refreshToken: 'r' });
    });
    let sent: string | undefined;
    void Promise.resolve(bench.broker.find(server, anna)).then((found) => (sent = valueOf(found)));
    for (let n = 0; n < 6; n++) {
      await settled();
      bench.clock.advance(250);
    }
    await settled();
    expect(sent).toBe('access-0');
    expect(valueOf(bench.broker.find(server, anna) as never), 'the next ones do not even wait').toBe('access-0');
    answer();
    for (let n = 0; n < 5; n++) await settled();
    expect(valueOf(await bench.broker.find(server, anna))).toBe('renewed');
    expect(bench.refreshes).toHaveLength(1);
  });

  it('by another node is waited for, but not by a node that stops', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(301_000);
    await bench.renewals.acquire(key, 'another node', 600_000);
    const asked = Promise.resolve(bench.broker.find(server, anna)).catch((error: unknown) => error);
    for (let n = 0; n < 3; n++) await settled();
    await bench.renewer.close();
    expect(await asked).toMatchObject({ code: 'upstream_unavailable' });
    expect(bench.refreshes).toEqual([]);
  });

  it('by another node is heard of at once, by its notice', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(301_000);
    const now = bench.clock.now();
    await bench.renewals.acquire(key, 'another node', 600_000);
    const asked = Promise.resolve(bench.broker.find(server, anna));
    for (let n = 0; n < 3; n++) await settled();
    const theirs = { ...aGrant(now, { lifeMs: 3_600_000, refreshToken: 'r' }) };
    await bench.keeper.keep(server, ofAnna, bindingOf(server), theirs, now);
    bench.changes.say({ kind: 'credentials', ...key });
    // No time passes.
    expect(valueOf(await asked)).toBe('access-0');
  });

  it('keeps what its sign-in is called and when it was', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    const signedInAt = bench.clock.now();
    bench.clock.advance(301_000);
    expect(await bench.broker.find(server, anna)).toMatchObject({ version: '2', signInId: 'first', signedInAt });
  });

  it('that fails for the same reason again and again is told to the operator once', async () => {
    const bench = aGrantsBench();
    await bench.signIn({ lifeMs: 300_000 });
    bench.clock.advance(301_000);
    const down = () => Promise.reject(new OAuthUnavailable('no answer'));
    const unknown = () => Promise.reject(new OAuthRefusal('temporarily_unavailable'));
    bench.answers.push(down, down, down, unknown);
    for (let n = 0; n < 4; n++) {
      await Promise.resolve(bench.broker.find(server, anna)).catch(() => undefined);
      bench.clock.advance(60_000);
    }
    expect(bench.refreshes).toHaveLength(4);
    expect(bench.log.map((line) => (JSON.parse(line) as { why?: string }).why)).toEqual([
      'no answer',
      'temporarily_unavailable',
    ]);
  });
});
