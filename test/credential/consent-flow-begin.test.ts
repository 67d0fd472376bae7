import { describe, expect, it } from 'vitest';
import { OAuthUnavailable, type SignInPlace } from '../../src/credential/authorization-server.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { NEVER, oauthServer } from './clients-bench.ts';
import { aFlow, answerOf, FlowBench } from './consent-flow-bench.ts';
import { AS_PLACE } from './fake-authorization-servers.ts';
import { aPrincipal } from './in-memory.ts';

const MINUTE = 60_000;

describe('a preview', () => {
  it('tells host, issuer and scopes, and nothing is sent, kept or registered for it (T1)', async () => {
    const { bench, stores } = aFlow();
    expect(await bench.flows.preview(bench.ticket(), bench.server, NEVER)).toEqual({
      authorizationOrigin: 'https://login.as.example',
      issuer: 'https://as.example',
      scopes: ['read'],
      digest: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect([stores.attempts.rows, bench.as.registrations, bench.as.sent]).toEqual([[], [], []]);
  });

  it('goes by the challenge that the ticket carries on', async () => {
    const { bench } = aFlow();
    await bench.flows.preview(bench.ticket({ challenge: 'Bearer scope="x"' }), bench.server, NEVER);
    await bench.begin({ challenge: 'Bearer scope="y"' });
    expect(bench.as.discovered).toEqual(['Bearer scope="x"', 'Bearer scope="y"']);
  });
});

describe('what a person has read and agreed to', () => {
  const begin = async (bench: FlowBench, shown: string) =>
    bench.flows.begin(bench.ticket(), bench.server, Buffer.from('browser'), NEVER, shown);

  it.each<[string, Partial<SignInPlace>]>([
    ['another host to sign in at', { authorizationEndpoint: 'https://evil.example/authorize' }],
    ['another issuer', { issuer: 'https://evil.example' }],
    ['more scopes', { scopes: ['read', 'everything'] }],
    ['fewer scopes', { scopes: [] }],
  ])('is asked for anew, and nothing is begun, when the server names %s meanwhile (T1)', async (_, change) => {
    const { bench, stores } = aFlow();
    const { digest } = await bench.flows.preview(bench.ticket(), bench.server, NEVER);
    bench.as.place = { ...AS_PLACE, ...change };
    expect(await begin(bench, digest)).toEqual({ kind: 'changed' });
    expect([stores.attempts.rows, bench.as.registrations, bench.as.sent]).toEqual([[], [], []]);
    const again = await bench.flows.preview(bench.ticket(), bench.server, NEVER);
    expect(await begin(bench, again.digest)).toMatchObject({ kind: 'begun' });
  });

  it('is the same when the scopes come in another order, or another path is signed in at', async () => {
    const { bench } = aFlow();
    bench.as.place = { ...AS_PLACE, scopes: ['a', 'b'] };
    const { digest } = await bench.flows.preview(bench.ticket(), bench.server, NEVER);
    const { origin } = new URL(AS_PLACE.authorizationEndpoint);
    bench.as.place = { ...AS_PLACE, scopes: ['b', 'a'], authorizationEndpoint: `${origin}/elsewhere` };
    expect(await begin(bench, digest)).toMatchObject({ kind: 'begun' });
  });
});

describe('somebody who signs in again', () => {
  it('has the server asked anew, for it may have moved to another issuer', async () => {
    const { bench } = aFlow();
    await bench.signIn();
    await bench.begin();
    expect(bench.as.anew).toEqual([false, true]);
  });
});

describe('a sign-in that begins', () => {
  it('sends state, verifier, scopes and the redirect URI of its context, and what the definition adds', async () => {
    const server = oauthServer({ authorizationParams: { access_type: 'offline' } });
    const { bench } = aFlow(server);
    const { state, id } = await bench.begin();
    const [sent] = bench.as.sent;
    expect(sent).toMatchObject({
      redirectUri: 'https://px.test/oauth/callback/6LaUHsALLKGkVQVFoXBfZK',
      state,
      scopes: ['read'],
      extraParams: { access_type: 'offline' },
      clientId: 'client-1',
    });
    // RFC 7636 §4.1: 43 to 128 characters.
    for (const text of [state, sent?.verifier, id]) expect(text).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(new Set([state, sent?.verifier, id]).size).toBe(3);
  });

  it('keeps neither state nor verifier in clear, and only the hash of what the browser has (T22)', async () => {
    const { bench, stores } = aFlow();
    const { state } = await bench.begin();
    const [row] = stores.attempts.rows;
    const text = JSON.stringify({
      ...row,
      sealed: row?.sealed.toString('latin1'),
      hash: row?.stateHash.toString('latin1'),
    });
    for (const secret of [state, bench.as.sent[0]?.verifier ?? '?']) expect(text).not.toContain(secret);
    expect(row).toMatchObject({ state: 'open', principalId: 'anna', expiresAt: bench.clock.now() + 10 * MINUTE });
  });

  it('is refused when fifty of the same person are under way', async () => {
    const { bench } = aFlow();
    for (let n = 0; n < 50; n++) await bench.begin();
    await expect(bench.begin()).rejects.toMatchObject({ code: 'rate_limited' });
    await bench.begin({ principalId: aPrincipal('bert') });
    bench.clock.advance(10 * MINUTE);
    await bench.begin();
  });

  it('says "try again" when the registration got no answer, and passes on what an admin has to do (B149)', async () => {
    const { bench, stores } = aFlow();
    bench.as.onRegister = () => Promise.reject(new OAuthUnavailable('HTTP 503'));
    await expect(bench.begin()).rejects.toMatchObject({ name: 'ProxyError', code: 'upstream_unavailable' });
    const refused = new ProxyError('upstream_protocol', 'Set "clientId".');
    bench.as.onRegister = () => Promise.reject(refused);
    await expect(bench.begin()).rejects.toBe(refused);
    expect(stores.attempts.rows).toEqual([]);
  });

  it('is not hindered by a credential that cannot be opened any more', async () => {
    const { bench, stores, grantOf } = aFlow();
    const { tenantId, id: serverId } = bench.server;
    const dead = { tenantId, serverId, owner: 'p:anna', binding: bench.ticket().binding, details: {} } as const;
    await stores.credentials.put({ ...dead, kind: 'grant', sealed: Buffer.from('rubbish') }, bench.clock.now());
    await bench.signIn();
    expect((await grantOf())?.accessToken.reveal()).toBe('access-1');
  });

  it('does not ask for less because the database is away', async () => {
    const { bench, stores } = aFlow();
    stores.credentials.find = () => Promise.reject(new ProxyError('overloaded', 'away'));
    await expect(bench.begin()).rejects.toMatchObject({ code: 'overloaded' });
  });
});

describe('an attempt', () => {
  it('is found by its state under its own context only, whatever the context that is tried (T2, D8)', async () => {
    const { bench } = aFlow();
    const begun = await bench.begin();
    const other = new FlowBench(oauthServer({}, {}, { name: 'other' }));
    const { contextId } = await other.begin();
    expect(contextId).not.toBe(begun.contextId);
    for (const context of [contextId, '', `${begun.contextId}x`, begun.contextId.slice(1)])
      expect(await bench.flows.findByState(context, begun.state)).toBeUndefined();
    expect(await bench.flows.findByState(begun.contextId, begun.state)).toMatchObject({
      id: begun.id,
      principalId: 'anna',
      state: 'open',
      server: bench.server,
    });
  });

  it('is not moved by a forged callback, and the real one completes (B158)', async () => {
    const { bench } = aFlow();
    const begun = await bench.begin();
    const flipped = (begun.state.startsWith('A') ? 'B' : 'A') + begun.state.slice(1);
    for (const state of [flipped, 'x'.repeat(43), '', 'short', `${begun.state}A`, `${begun.state}\u0000`])
      expect(await bench.flows.findByState(begun.contextId, state)).toBeUndefined();
    expect((await bench.attempt(begun)).state).toBe('open');
    expect(await bench.comeBack(begun)).toEqual({ kind: 'connected' });
  });

  it('is over after ten minutes, and is never exchanged then (B158)', async () => {
    const { bench } = aFlow();
    const begun = await bench.begin();
    const attempt = await bench.attempt(begun);
    bench.clock.advance(10 * MINUTE);
    expect(await bench.flows.findByState(begun.contextId, begun.state)).toBeUndefined();
    expect(await bench.flows.find(begun.id)).toBeUndefined();
    expect(await bench.flows.finish(attempt, answerOf(begun))).toEqual({ kind: 'taken' });
    expect(bench.as.exchanges).toEqual([]);
  });

  it('is found by its id in whatever state, for the page that tells how it ended', async () => {
    const { bench } = aFlow();
    const begun = await bench.begin();
    expect((await bench.flows.find(begun.id))?.state).toBe('open');
    await bench.comeBack(begun);
    bench.clock.advance(60 * MINUTE);
    expect((await bench.flows.find(begun.id))?.state).toBe('connected');
    for (const id of ['', 'x', begun.state, `${begun.id}x`]) expect(await bench.flows.find(id)).toBeUndefined();
  });

  it('may overlap with others of the same person, and all finish, crosswise (B155)', async () => {
    const { bench, grantOf } = aFlow();
    const bert = aPrincipal('bert');
    const [first, second, berts] = [await bench.begin(), await bench.begin(), await bench.begin({ principalId: bert })];
    for (const begun of [berts, second, first]) expect(await bench.comeBack(begun)).toEqual({ kind: 'connected' });
    expect(bench.as.exchanges.map(({ state }) => state)).toEqual([berts.state, second.state, first.state]);
    const verifiers = new Map(bench.as.sent.map(({ state, verifier }) => [state, verifier]));
    for (const { state, verifier } of bench.as.exchanges) expect(verifiers.get(state)).toBe(verifier);
    // The later result wins, and the other person's is theirs.
    expect((await grantOf())?.accessToken.reveal()).toBe('access-3');
    expect((await grantOf('p:bert'))?.accessToken.reveal()).toBe('access-1');
  });

  it.each(['anna', 'bert'])(
    'opens only as itself: with the sealed text of another one, of %s, it fails and nothing is exchanged (T22)',
    async (other) => {
      const { bench, stores } = aFlow();
      const both = [await bench.begin(), await bench.begin({ principalId: aPrincipal(other) })];
      const [a, b] = stores.attempts.rows;
      if (a === undefined || b === undefined) throw new Error('there are two');
      stores.attempts.rows = [
        { ...a, sealed: b.sealed },
        { ...b, sealed: a.sealed },
      ];
      for (const begun of both) {
        await expect(bench.comeBack(begun)).rejects.toMatchObject({ code: 'internal' });
        expect((await bench.flows.find(begun.id))?.state).toBe('failed');
      }
      expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
    },
  );

  it.each([
    ['another person', { principalId: aPrincipal('mallory') }],
    ['another server', { serverId: 'id-of-other' as never }],
    ['another binding', { binding: 'b' }],
  ])('that was edited in the table to be for %s does not open (T1, T22)', async (_, change) => {
    const { bench, stores } = aFlow();
    const begun = await bench.begin();
    stores.attempts.rows = stores.attempts.rows.map((row) => ({ ...row, ...change }));
    await bench.comeBack(begun).catch(() => undefined);
    expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
  });
});
