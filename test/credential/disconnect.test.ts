import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import type { Owner } from '../../src/credential/credential.ts';
import { createDisconnect } from '../../src/credential/disconnect.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { createSecretKeeper } from '../../src/credential/keep-secret.ts';
import { createKeptCredentials } from '../../src/credential/kept-credentials.ts';
import type { Change } from '../../src/shared/changes.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeAuthorizationServers, untilAborted } from './fake-authorization-servers.ts';
import { aGrant, ofAnna, PLACE, server, type Wishes } from './grants-bench.ts';
import { aPrincipal, aServer, aVault, InMemoryCredentials } from './in-memory.ts';

const settled = (): Promise<void> => new Promise(setImmediate);
const unavailable = (ms?: number) => Promise.reject(new OAuthUnavailable('HTTP 503', ms));

function aBench() {
  const clock = new FakeClock();
  const vault = aVault();
  const as = new FakeAuthorizationServers();
  const credentials = new InMemoryCredentials();
  const changes = new AChangeFeed();
  const log: string[] = [];
  const logger = createLogger('debug', { write: (line) => void log.push(line) });
  const announced: Change[] = [];
  const us = { isKnown: true };
  const disconnect = createDisconnect({
    credentials,
    kept: createKeptCredentials({ credentials, vault, changes, logger }),
    clients: {
      known: async (_server, _place, clientId) =>
        us.isKnown ? { clientId, authentication: { kind: 'none' } } : undefined,
    },
    authorizationServersOf: () => as,
    announce: (change) => (announced.push(change), changes.say(change)),
    clock,
    logger,
  });
  const keeper = createGrantKeeper({ vault, credentials });
  const connect = (
    owner: Owner = ofAnna,
    wishes: Wishes = {},
    endpoint: string | undefined = 'https://as.example/r',
  ) => {
    const grant = { ...aGrant(clock.now(), wishes), place: { ...PLACE, revocationEndpoint: endpoint } };
    return keeper.keep(server, owner, bindingOf(server), grant, clock.now());
  };
  const hints = (): readonly string[] => as.revocations.map(({ hint }) => hint);
  return { clock, vault, as, credentials, log, announced, us, disconnect, connect, hints };
}

describe('a disconnect', () => {
  it('removes the credential, says so, and revokes both tokens, the refresh token first (B213)', async () => {
    const bench = aBench();
    await bench.connect();
    expect(await bench.disconnect.run(server, ofAnna)).toBe(true);
    expect(bench.credentials.rows).toEqual([]);
    const about = { tenantId: 'acme', serverId: server.id, owner: 'p:anna' };
    expect(bench.announced).toEqual([{ kind: 'credentials', ...about }]);
    await settled();
    expect(bench.as.revocations).toEqual([
      { token: 'refresh-0', hint: 'refresh_token', clientId: 'us' },
      { token: 'access-0', hint: 'access_token', clientId: 'us' },
    ]);
    expect(bench.clock.pending).toBe(0);
  });

  it('touches nobody else (T18)', async () => {
    const bench = aBench();
    await bench.connect();
    await bench.connect({ kind: 'principal', principalId: aPrincipal('bert') });
    await bench.disconnect.run(server, ofAnna);
    expect(bench.credentials.rows.map(({ owner }) => owner)).toEqual(['p:bert']);
  });

  it('of nothing says so, and revokes nothing', async () => {
    const bench = aBench();
    expect(await bench.disconnect.run(server, ofAnna)).toBe(false);
    await settled();
    expect(bench.as.revocations).toEqual([]);
  });

  it('is done at once in every case, whatever the authorization server does (B213)', async () => {
    const answers = [
      () => Promise.reject(new OAuthRefusal('unsupported_token_type')),
      () => unavailable(),
      (_hint: string, _nth: number, signal: AbortSignal) => untilAborted(signal),
      () => {
        throw new TypeError('a fault of ours');
      },
    ];
    for (const answer of answers) {
      const bench = aBench();
      await bench.connect();
      bench.as.onRevoke = answer;
      expect(await bench.disconnect.run(server, ofAnna)).toBe(true);
      expect(bench.credentials.rows).toEqual([]);
      await settled();
      expect(new Set(bench.hints())).toEqual(new Set(['refresh_token', 'access_token']));
      bench.disconnect.close();
    }
  });

  it('works although what is kept cannot be opened', async () => {
    const bench = aBench();
    await bench.connect();
    bench.credentials.rows = bench.credentials.rows.map((row) => ({ ...row, sealed: Buffer.from('rubbish') }));
    expect(await bench.disconnect.run(server, ofAnna)).toBe(true);
    expect(bench.credentials.rows).toEqual([]);
    expect(bench.announced).toHaveLength(1);
  });

  it('that could not remove it says so, and revokes nothing it leaves in use', async () => {
    const bench = aBench();
    await bench.connect();
    bench.credentials.remove = () => Promise.reject(new Error('away'));
    await expect(bench.disconnect.run(server, ofAnna)).rejects.toThrow('away');
    await settled();
    expect(bench.as.revocations).toEqual([]);
  });

  it('of a pasted key only removes it', async () => {
    const bench = aBench();
    const { vault, credentials, clock } = bench;
    const pasted = aServer();
    await createSecretKeeper({ vault, credentials, clock }).keep(pasted, ofAnna, 'k3y');
    expect(await bench.disconnect.run(pasted, ofAnna)).toBe(true);
    await settled();
    expect([bench.credentials.rows, bench.as.revocations]).toEqual([[], []]);
  });

  it('followed by a new sign-in keeps the new one: what is tried again is the old token (B216)', async () => {
    const bench = aBench();
    await bench.connect(ofAnna, { refreshToken: 'old' });
    bench.as.onRevoke = (_hint, nth) => (nth === 1 ? unavailable() : Promise.resolve());
    await bench.disconnect.run(server, ofAnna);
    await settled();
    await bench.connect(ofAnna, { refreshToken: 'new' });
    bench.clock.advance(5_000);
    await settled();
    expect(bench.as.revocations.map(({ token }) => token)).toEqual(['old', 'access-0', 'old', 'access-0']);
    expect(bench.credentials.rows).toHaveLength(1);
  });
});

describe('a revocation', () => {
  it('of a grant without a refresh token is of the access token', async () => {
    const bench = aBench();
    await bench.connect(ofAnna, { refreshToken: '' });
    await bench.disconnect.run(server, ofAnna);
    await settled();
    expect(bench.hints()).toEqual(['access_token']);
  });

  it('of one token does not wait for the other, nor fall with it (B213)', async () => {
    const bench = aBench();
    await bench.connect();
    bench.as.onRevoke = (hint, _nth, signal) => (hint === 'refresh_token' ? untilAborted(signal) : Promise.resolve());
    await bench.disconnect.run(server, ofAnna);
    await settled();
    expect(bench.hints()).toEqual(['refresh_token', 'access_token']);
    bench.disconnect.close();
    const other = aBench();
    await other.connect();
    other.as.onRevoke = (hint) =>
      hint === 'access_token' ? Promise.reject(new OAuthRefusal('no')) : Promise.resolve();
    await other.disconnect.run(server, ofAnna);
    await settled();
    expect(other.hints()).toEqual(['refresh_token', 'access_token']);
  });

  it('without an answer is tried again after 5, 30 and 120 seconds, and then no more (B213)', async () => {
    const bench = aBench();
    await bench.connect(ofAnna, { refreshToken: '' });
    bench.as.onRevoke = () => unavailable();
    await bench.disconnect.run(server, ofAnna);
    await settled();
    const counts = [bench.hints().length];
    for (const ms of [4_999, 1, 29_999, 1, 119_999, 1, 3_600_000]) {
      bench.clock.advance(ms);
      await settled();
      counts.push(bench.hints().length);
    }
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    expect(bench.clock.pending).toBe(0);
    expect(bench.log.join('')).not.toMatch(/access-0|refresh-0/);
  });

  it('that is asked to wait longer waits longer', async () => {
    const bench = aBench();
    await bench.connect(ofAnna, { refreshToken: '' });
    bench.as.onRevoke = (_hint, nth) => (nth === 1 ? unavailable(60_000) : Promise.resolve());
    await bench.disconnect.run(server, ofAnna);
    await settled();
    bench.clock.advance(59_999);
    await settled();
    expect(bench.hints()).toHaveLength(1);
    bench.clock.advance(1);
    await settled();
    expect(bench.hints()).toHaveLength(2);
  });

  it('that hangs is given up after ten seconds and tried again (B213)', async () => {
    const bench = aBench();
    await bench.connect(ofAnna, { refreshToken: '' });
    bench.as.onRevoke = (_hint, nth, signal) => (nth === 1 ? untilAborted(signal) : Promise.resolve());
    await bench.disconnect.run(server, ofAnna);
    await settled();
    bench.clock.advance(10_000);
    await settled();
    expect(bench.hints()).toHaveLength(1);
    bench.clock.advance(5_000);
    await settled();
    expect(bench.hints()).toHaveLength(2);
    expect(bench.clock.pending).toBe(0);
  });

  it('that is refused is not asked for again: the answer would be the same', async () => {
    const bench = aBench();
    await bench.connect();
    bench.as.onRevoke = () => Promise.reject(new OAuthRefusal('invalid_client'));
    await bench.disconnect.run(server, ofAnna);
    await settled();
    bench.clock.advance(3_600_000);
    await settled();
    expect(bench.hints()).toEqual(['refresh_token', 'access_token']);
  });

  it('is not tried where there is no endpoint for it (B213)', async () => {
    const bench = aBench();
    const grant = { ...aGrant(bench.clock.now(), {}), place: PLACE };
    await createGrantKeeper(bench).keep(server, ofAnna, bindingOf(server), grant, bench.clock.now());
    expect(await bench.disconnect.run(server, ofAnna)).toBe(true);
    await settled();
    bench.clock.advance(3_600_000);
    await settled();
    expect([bench.as.revocations, bench.credentials.rows]).toEqual([[], []]);
  });

  it('is not tried as another client than the one it was given to', async () => {
    const bench = aBench();
    await bench.connect();
    bench.us.isKnown = false;
    expect(await bench.disconnect.run(server, ofAnna)).toBe(true);
    await settled();
    expect(bench.as.revocations).toEqual([]);
  });

  it('ends its tries when the node stops, and leaves no timer', async () => {
    const bench = aBench();
    await bench.connect();
    bench.as.onRevoke = () => unavailable();
    await bench.disconnect.run(server, ofAnna);
    await settled();
    bench.disconnect.close();
    await settled();
    bench.clock.advance(3_600_000);
    await settled();
    expect(bench.hints()).toEqual(['refresh_token', 'access_token']);
    expect(bench.clock.pending).toBe(0);
  });
});
