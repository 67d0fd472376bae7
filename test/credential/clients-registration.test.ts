import { describe, expect, it } from 'vitest';
import { OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { deferred } from '../support/deferred.ts';
import { aClientsBench, NOTES, oauthServer } from './clients-bench.ts';
import { AS_PLACE, aRegistration, untilAborted } from './fake-authorization-servers.ts';
import { aServer } from './in-memory.ts';
import { InMemoryClients } from './in-memory-oauth.ts';

const MINUTE = 60_000;
const CALLBACK = 'https://px.test/oauth/callback/6LaUHsALLKGkVQVFoXBfZK';
const settled = (): Promise<void> => new Promise(setImmediate);

const refused = new ProxyError('upstream_protocol', 'It refused us. An admin can set "clientId".');

describe('a registration', () => {
  it('leaves once, however many sign in at the same time, on two nodes (B151, B211)', async () => {
    const bench = aClientsBench();
    const other = bench.node();
    const answer = deferred();
    bench.as.onRegister = async (nth) => (await answer.promise, aRegistration(nth));
    const asking = [bench.clients, other].flatMap((node) =>
      Array.from({ length: 20 }, () => bench.signIn(oauthServer(), {}, node)),
    );
    await settled();
    answer.resolve();
    for (let n = 0; n < 10; n++) {
      await settled();
      bench.clock.advance(250);
    }
    const ids = (await Promise.all(asking)).map(({ clientId }) => clientId);
    expect(ids).toEqual(Array.from({ length: 40 }, () => 'client-1'));
    expect(bench.as.registrations).toHaveLength(1);
    expect(bench.as.registrations[0]).toMatchObject({ redirectUri: CALLBACK, issuer: 'https://as.example' });
  });

  it('keeps the secret sealed, and a later node proves itself with it', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    await bench.signIn(oauthServer());
    expect(JSON.stringify(store.all)).not.toContain('client-secret-1');
    expect(store.all[0]?.sealed?.toString('latin1')).not.toContain('client-secret-1');
    const { authentication } = await bench.signIn(oauthServer(), {}, bench.node());
    expect(authentication).toMatchObject({ kind: 'secret', method: 'client_secret_basic' });
    expect(authentication.kind === 'secret' && authentication.secret.reveal()).toBe('client-secret-1');
    expect(bench.as.registrations).toHaveLength(1);
  });

  it('of a public client needs no secret', async () => {
    const bench = aClientsBench();
    bench.as.onRegister = async () => ({
      client: { clientId: 'public', authentication: { kind: 'none' } },
      secretExpiresAt: undefined,
    });
    const expected = { clientId: 'public', authentication: { kind: 'none' } };
    expect(await bench.signIn(oauthServer())).toEqual(expected);
    expect(await bench.signIn(oauthServer(), {}, bench.node())).toEqual(expected);
  });

  it('is never shared by two servers, two tenants or two issuers (T2)', async () => {
    const bench = aClientsBench();
    const tenantId = aServer({}, { name: 'x' }).tenantId;
    await bench.signIn(oauthServer());
    await bench.signIn(oauthServer({}, {}, { tenantId, name: 'other' }));
    await bench.signIn(oauthServer({}, {}, { tenantId: 'beta' as typeof tenantId }));
    await bench.signIn(oauthServer(), { issuer: 'https://as2.example' });
    expect(bench.as.registrations).toHaveLength(4);
    expect(new Set(bench.as.registrations.map(({ redirectUri }) => redirectUri)).size).toBe(3);
  });

  it('that does not open as itself is not used: another row has been put in its place (T22)', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    await bench.signIn(oauthServer());
    await bench.signIn(oauthServer(), { issuer: 'https://evil.example' });
    const [mine, theirs] = [...store.rows.keys()] as [string, string];
    const row = store.rows.get(theirs);
    if (row !== undefined) store.rows.set(theirs, { ...row, client: store.rows.get(mine)?.client });
    await expect(bench.signIn(oauthServer(), { issuer: 'https://evil.example' })).rejects.toMatchObject({
      code: 'internal',
    });
  });

  it.each([
    [5 * MINUTE, 2],
    [5 * MINUTE + 1, 1],
  ])('whose secret ends in %i ms is made %i times before anybody is sent away (B209)', async (restMs, times) => {
    const bench = aClientsBench();
    const endsAt = bench.clock.now() + 60 * MINUTE;
    bench.as.onRegister = async (nth) => aRegistration(nth, nth === 1 ? endsAt : undefined);
    await bench.signIn(oauthServer());
    bench.clock.advance(60 * MINUTE - restMs);
    expect((await bench.signIn(oauthServer())).clientId).toBe(`client-${times}`);
    expect(bench.as.registrations).toHaveLength(times);
  });

  it('for another redirect URI is replaced before anybody is sent away (B154)', async () => {
    const bench = aClientsBench();
    bench.site.url = 'http://localhost:8080';
    await bench.signIn(oauthServer());
    bench.site.url = 'https://px.test';
    expect((await bench.signIn(oauthServer())).clientId).toBe('client-2');
    expect(bench.as.registrations.map(({ redirectUri }) => redirectUri)).toEqual([
      CALLBACK.replace('https://px.test', 'http://localhost:8080'),
      CALLBACK,
    ]);
    expect(await bench.clients.known(oauthServer(), AS_PLACE, 'client-1')).toBeUndefined();
  });

  it('goes on for the others when the one who came first leaves', async () => {
    const bench = aClientsBench();
    const answer = deferred();
    bench.as.onRegister = async (nth) => (await answer.promise, aRegistration(nth));
    const leaver = new AbortController();
    const first = bench.clients.forSignIn(oauthServer(), AS_PLACE, leaver.signal);
    const second = bench.signIn(oauthServer());
    await settled();
    leaver.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    answer.resolve();
    expect((await second).clientId).toBe('client-1');
    expect(bench.as.registrations).toHaveLength(1);
  });

  it('that hangs is given up before anybody else may begin one, and leaves no timer', async () => {
    const bench = aClientsBench();
    bench.as.onRegister = (_nth, signal) => untilAborted(signal);
    const asking = bench.signIn(oauthServer());
    asking.catch(() => undefined);
    await settled();
    bench.clock.advance(14_999);
    await settled();
    expect(await bench.clients.known(oauthServer(), AS_PLACE, 'client-1')).toBeUndefined();
    bench.clock.advance(1);
    await expect(asking).rejects.toBeInstanceOf(OAuthUnavailable);
    expect(bench.clock.pending).toBe(0);
    // No answer is no refusal: the next one tries again at once.
    bench.as.onRegister = async (nth) => aRegistration(nth);
    expect((await bench.signIn(oauthServer())).clientId).toBe('client-2');
  });

  it('of a node that died holds the others up for twenty seconds, no longer', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    store.clock = bench.clock;
    await store.acquire(NOTES, 'the dead', 20_000);
    const asking = bench.signIn(oauthServer());
    for (let n = 0; n < 79; n++) {
      await settled();
      bench.clock.advance(250);
    }
    await settled();
    expect(bench.as.registrations).toEqual([]);
    bench.clock.advance(250);
    expect((await asking).clientId).toBe('client-1');
  });

  it('that another node has finished between the look and the lease is not made again (B211)', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    const acquire = store.acquire.bind(store);
    store.acquire = async (...args) => {
      store.acquire = acquire;
      await bench.signIn(oauthServer(), {}, bench.node());
      return acquire(...args);
    };
    expect((await bench.signIn(oauthServer())).clientId).toBe('client-1');
    expect(bench.as.registrations).toHaveLength(1);
    // Nothing but the lease was given back.
    expect(store.all.map(({ clientId }) => clientId)).toEqual(['client-1']);
  });

  it('that never gets its turn ends with "try again"', async () => {
    const store = new InMemoryClients();
    store.acquire = async () => false;
    const bench = aClientsBench(() => store);
    const asking = bench.signIn(oauthServer());
    asking.catch(() => undefined);
    for (let n = 0; n < 110; n++) {
      await settled();
      bench.clock.advance(250);
    }
    await expect(asking).rejects.toMatchObject({ code: 'upstream_unavailable' });
  });
});

describe('a refused registration', () => {
  it('is not tried again for a minute, by whoever, and says what an admin has to set (B149)', async () => {
    const bench = aClientsBench();
    bench.as.onRegister = () => Promise.reject(refused);
    const many = await Promise.allSettled(Array.from({ length: 10 }, () => bench.signIn(oauthServer())));
    expect(many.map((one) => one.status === 'rejected' && (one.reason as Error).message)).toEqual(
      Array.from({ length: 10 }, () => refused.message),
    );
    bench.clock.advance(59_999);
    await expect(bench.signIn(oauthServer())).rejects.toBe(refused);
    expect(bench.as.registrations).toHaveLength(1);
    bench.clock.advance(1);
    bench.as.onRegister = async (nth) => aRegistration(nth);
    expect((await bench.signIn(oauthServer())).clientId).toBe('client-2');
  });

  it('is remembered also when the one who asked has left', async () => {
    const bench = aClientsBench();
    const answer = deferred<never>();
    bench.as.onRegister = () => answer.promise;
    const leaver = new AbortController();
    const asking = bench.clients.forSignIn(oauthServer(), AS_PLACE, leaver.signal);
    await settled();
    leaver.abort(new Error('left'));
    await expect(asking).rejects.toThrow('left');
    answer.reject(refused);
    await settled();
    await expect(bench.signIn(oauthServer())).rejects.toBe(refused);
    expect(bench.as.registrations).toHaveLength(1);
  });

  it('is tried at once when the definition was edited', async () => {
    const bench = aClientsBench();
    bench.as.onRegister = () => Promise.reject(refused);
    await expect(bench.signIn(oauthServer())).rejects.toBe(refused);
    bench.as.onRegister = async (nth) => aRegistration(nth);
    const edited = { ...oauthServer({ initialAccessToken: 'let-me-in' }), revision: '2' };
    expect((await bench.signIn(edited)).clientId).toBe('client-2');
  });

  it('gives the lease back, so that another node need not wait for it to run out', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    bench.as.onRegister = () => Promise.reject(refused);
    await expect(bench.signIn(oauthServer())).rejects.toBe(refused);
    expect(await store.acquire(NOTES, 'other', 1)).toBe(true);
  });

  it('that nobody offers names redirect URI and settings (B149)', async () => {
    const bench = aClientsBench();
    const asking = bench.signIn(oauthServer(), { registrationEndpoint: undefined });
    await expect(asking).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: expect.stringMatching(/^Its .*redirect URI https:\/\/px\.test\/oauth\/callback\/.*clientId/),
    });
    expect(bench.as.registrations).toEqual([]);
  });
});

describe('the initial access token', () => {
  it('goes to the registration and nowhere else (B151)', async () => {
    const bench = aClientsBench();
    const client = await bench.signIn(oauthServer({ initialAccessToken: 'let-me-in' }));
    const [request] = bench.as.registrations;
    expect(request?.initialAccessToken?.reveal()).toBe('let-me-in');
    expect(JSON.stringify([client, request])).not.toContain('let-me-in');
    expect(client.authentication.kind === 'secret' && client.authentication.secret.reveal()).toBe('client-secret-1');
  });

  it('is not sent when there is none', async () => {
    const bench = aClientsBench();
    await bench.signIn(oauthServer());
    expect(bench.as.registrations[0]?.initialAccessToken).toBeUndefined();
  });
});
