import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { Secret } from '../../src/shared/secret.ts';
import { deferred } from '../support/deferred.ts';
import { oauthServer } from './clients-bench.ts';
import { aFlow, answerOf } from './consent-flow-bench.ts';
import { AS_PLACE, aTokenSet, untilAborted } from './fake-authorization-servers.ts';

const settled = (): Promise<void> => new Promise(setImmediate);

describe('a sign-in that ends', () => {
  it('keeps the grant, says so on this node, and has the tools found before it resolves', async () => {
    const { bench, grantOf } = aFlow();
    const tools = deferred();
    bench.onSignedIn = () => tools.promise;
    let hasEnded = false;
    const ending = bench.comeBack(await bench.begin()).finally(() => (hasEnded = true));
    await settled();
    const owner = 'p:anna';
    expect(bench.done).toEqual(['kept p:anna access-1', 'tools p:anna']);
    expect(bench.announced).toEqual([{ kind: 'credentials', tenantId: 'acme', serverId: bench.server.id, owner }]);
    expect(hasEnded).toBe(false);
    tools.resolve();
    expect(await ending).toEqual({ kind: 'connected' });
    expect(bench.clock.pending).toBe(0);
    expect(await grantOf()).toMatchObject({
      clientId: 'client-1',
      scopes: ['read'],
      place: { issuer: AS_PLACE.issuer },
    });
  });

  it('sends the code once, with the redirect URI and verifier it began with (B152)', async () => {
    const { bench } = aFlow();
    await bench.signIn();
    const [sent, exchanged] = [bench.as.sent[0], bench.as.exchanges[0]];
    expect(exchanged).toMatchObject({ redirectUri: sent?.redirectUri, verifier: sent?.verifier, clientId: 'client-1' });
    expect(exchanged?.query.get('code')).toBe('c');
  });

  it('is well although the tools could not be found; the log says which server', async () => {
    const { bench, grantOf } = aFlow();
    bench.onSignedIn = () => Promise.reject(new Error('down'));
    await bench.signIn();
    expect(await grantOf()).toBeDefined();
    expect(bench.log.join('')).toContain('tools were not refreshed');
  });

  it('exchanges once of fifty callbacks on two nodes; the others are told it is taken (T4, B161)', async () => {
    const { bench, stores } = aFlow();
    const nodes = [bench.flows, bench.node()] as const;
    const begun = await bench.begin();
    const ends = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const node = nodes[n % 2 === 0 ? 0 : 1];
        return node.finish(await bench.attempt(begun, node), answerOf(begun));
      }),
    );
    expect(ends.filter(({ kind }) => kind === 'connected')).toHaveLength(1);
    expect(ends.filter(({ kind }) => kind === 'taken')).toHaveLength(49);
    expect(bench.as.exchanges).toHaveLength(1);
    // Also after it ended, well or not.
    expect(await bench.comeBack(begun)).toEqual({ kind: 'taken' });
    expect(bench.as.exchanges).toHaveLength(1);
    expect(stores.credentials.rows).toHaveLength(1);
  });

  it.each([
    ['elsewhere', oauthServer({}, { url: 'https://evil.example/mcp' })],
    ['with another client', oauthServer({ clientId: 'other' })],
    ['with another issuer', oauthServer({ issuer: 'https://other.example' })],
    ['switched off', { ...oauthServer(), enabled: false }],
    ['gone', undefined],
  ])('fails when the server is %s meanwhile, and no code is sent anywhere (T2, B168, B170)', async (_, now) => {
    const { bench, stores } = aFlow();
    const begun = await bench.begin();
    bench.registered = now;
    expect(await bench.comeBack(begun)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('changed') });
    expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
  });

  it('goes on when only title, path or secret were edited', async () => {
    const { bench } = aFlow();
    const begun = await bench.begin();
    bench.registered = { ...oauthServer({}, { title: 'New', url: 'https://notes.example/v2' }), revision: '2' };
    expect(await bench.comeBack(begun)).toEqual({ kind: 'connected' });
  });

  it('fails when we are registered anew meanwhile, for the code belongs to the old registration', async () => {
    const { bench, stores } = aFlow();
    const begun = await bench.begin();
    const [key] = [...stores.clients.rows.keys()];
    const row = stores.clients.rows.get(key ?? '');
    if (row?.client !== undefined)
      stores.clients.rows.set(key ?? '', { ...row, client: { ...row.client, clientId: 'client-9' } });
    expect(await bench.comeBack(begun)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('again') });
    expect(bench.as.exchanges).toEqual([]);
  });

  it('uses the place it began with, not what the server says by now (B166)', async () => {
    const { bench, grantOf } = aFlow();
    const begun = await bench.begin();
    bench.as.place = { ...AS_PLACE, tokenEndpoint: 'https://evil.example/token' };
    await bench.comeBack(begun);
    expect(bench.as.exchanges[0]?.tokenEndpoint).toBe('https://as.example/token');
    expect((await grantOf())?.place.tokenEndpoint).toBe('https://as.example/token');
  });

  it('by a no of the person is "denied", and what they had stays (B165)', async () => {
    const { bench, grantOf } = aFlow();
    await bench.signIn();
    const begun = await bench.begin();
    expect(await bench.comeBack(begun, { error: 'access_denied' })).toEqual({ kind: 'denied' });
    expect((await bench.flows.find(begun.id))?.state).toBe('denied');
    expect((await grantOf())?.accessToken.reveal()).toBe('access-1');
    // A code that comes for it later is not used (B165).
    expect(await bench.comeBack(begun)).toEqual({ kind: 'taken' });
  });

  it.each([
    ['a refusal', () => Promise.reject(new OAuthRefusal('invalid_grant')), 'invalid_grant'],
    ['an answer of another issuer', () => Promise.reject(new OAuthRefusal('issuer_mismatch')), 'did not come from'],
    ['no answer', () => Promise.reject(new OAuthUnavailable('https://as.example?code=c')), 'did not answer'],
    ['what an admin has to mend', () => Promise.reject(new ProxyError('upstream_protocol', 'Set it.')), 'Set it.'],
  ])('by %s fails with a sentence of ours, and nothing is kept', async (_, answer, words) => {
    const { bench, stores } = aFlow();
    bench.as.onExchange = answer;
    const begun = await bench.begin();
    const end = await bench.comeBack(begun);
    expect(end).toMatchObject({ kind: 'failed', reason: expect.stringContaining(words) });
    expect(JSON.stringify(end)).not.toContain('code=c');
    expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    expect([stores.credentials.rows, bench.announced]).toEqual([[], []]);
    expect(await bench.comeBack(begun)).toEqual({ kind: 'taken' });
    expect(bench.as.exchanges).toHaveLength(1);
  });

  it('by a refusal is told to the operator: the code, the tenant and the server, nothing else', async () => {
    const { bench } = aFlow();
    bench.as.onExchange = () => Promise.reject(new OAuthRefusal('unauthorized_client'));
    await bench.comeBack(await bench.begin());
    expect(bench.log.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: 40, tenantId: 'acme', server: 'notes', code: 'unauthorized_client' }),
    ]);
    const quiet = aFlow().bench;
    quiet.as.onExchange = () => Promise.reject(new OAuthRefusal('access_denied', true));
    await quiet.comeBack(await quiet.begin());
    expect(quiet.log, "what a browser brings is nobody's fault").toEqual([]);
  });

  it('by a fault of our own fails too, and says no more than that', async () => {
    const { bench, stores } = aFlow();
    bench.as.onExchange = () => Promise.reject(new TypeError('secret c'));
    const begun = await bench.begin();
    await expect(bench.comeBack(begun)).rejects.toBeInstanceOf(TypeError);
    expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    expect(stores.credentials.rows).toEqual([]);
  });

  it('that hangs is given up after 25 seconds, and leaves no timer', async () => {
    const { bench } = aFlow();
    bench.as.onExchange = (_nth, signal) => untilAborted(signal);
    const begun = await bench.begin();
    const ending = bench.comeBack(begun);
    await settled();
    bench.clock.advance(24_999);
    await settled();
    expect((await bench.flows.find(begun.id))?.state).toBe('taken');
    bench.clock.advance(1);
    expect(await ending).toMatchObject({ kind: 'failed', reason: expect.stringContaining('did not answer') });
    expect(bench.clock.pending).toBe(0);
  });

  it('because nobody knows our registration any more leads to a new one at the next try (B207)', async () => {
    const { bench } = aFlow();
    bench.as.onExchange = () => Promise.reject(new OAuthRefusal('invalid_client'));
    expect(await bench.comeBack(await bench.begin())).toMatchObject({ kind: 'failed' });
    bench.as.onExchange = async (nth) => aTokenSet(`access-${nth}`);
    await bench.signIn();
    expect(bench.as.sent.map(({ clientId }) => clientId)).toEqual(['client-1', 'client-2']);
  });

  it('because a scope cannot be had there forgets what tools were said to need, for this person', async () => {
    const { bench, stores } = aFlow();
    const key = { tenantId: bench.server.tenantId, serverId: bench.server.id };
    await stores.scopes.add({ ...key, owner: 'p:anna' }, 'write', ['nonsense']);
    await stores.scopes.add({ ...key, owner: 'p:ben' }, 'write', ['nonsense']);
    bench.as.onExchange = () => Promise.reject(new OAuthRefusal('invalid_scope'));
    expect(await bench.comeBack(await bench.begin())).toMatchObject({ kind: 'failed' });
    expect(await stores.scopes.list({ ...key, owner: 'p:anna' })).toEqual([]);
    expect(await stores.scopes.list({ ...key, owner: 'p:ben' })).toEqual(['nonsense']);
  });

  it("ends nobody else's sign-ins by what its own browser was made to say", async () => {
    const { bench } = aFlow();
    await bench.signIn();
    bench.as.onExchange = () => Promise.reject(new OAuthRefusal('invalid_client', true));
    expect(await bench.comeBack(await bench.begin())).toMatchObject({ kind: 'failed' });
    bench.as.onExchange = async (nth) => aTokenSet(`access-${nth}`);
    await bench.signIn();
    expect(bench.as.sent.map(({ clientId }) => clientId)).toEqual(['client-1', 'client-1', 'client-1']);
  });

  it('replaces the account that was connected, with a version of its own (B215)', async () => {
    const { bench, stores, grantOf } = aFlow();
    await bench.signIn();
    const before = stores.credentials.rows[0]?.version;
    bench.as.onExchange = async () => aTokenSet('other-account', { refreshToken: new Secret('r') });
    await bench.signIn();
    expect((await grantOf())?.accessToken.reveal()).toBe('other-account');
    expect(stores.credentials.rows.map(({ version }) => version)).not.toEqual([before]);
    expect(stores.credentials.rows).toHaveLength(1);
  });
});
