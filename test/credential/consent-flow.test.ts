import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import { readGrant } from '../../src/credential/grant.ts';
import { credentialContext } from '../../src/credential/keep-secret.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { Secret } from '../../src/shared/secret.ts';
import { NEVER, oauthServer } from './clients-bench.ts';
import { answerOf, FlowBench, inMemoryStores } from './consent-flow-bench.ts';
import { AS_PLACE, aTokenSet, deferred, untilAborted } from './fake-authorization-servers.ts';
import { aPrincipal } from './in-memory.ts';

const MINUTE = 60_000;
const settled = (): Promise<void> => new Promise(setImmediate);

function aBench(server = oauthServer()) {
  const stores = inMemoryStores();
  const bench = new FlowBench(server, () => stores);
  const grantOf = async (owner = 'p:anna') => {
    const row = await stores.credentials.find(server.tenantId, server.id, owner);
    if (row === undefined) return undefined;
    const context = credentialContext(row.kind, row.serverId, row.owner, row.binding);
    return readGrant((await bench.vault.open(row.tenantId, context, row.sealed)).reveal());
  };
  return { bench, stores, grantOf };
}

describe('a preview', () => {
  it('tells host, issuer and scopes, and nothing is sent, kept or registered for it (T1)', async () => {
    const { bench, stores } = aBench();
    expect(await bench.flows.preview(bench.ticket(), bench.server, NEVER)).toEqual({
      server: bench.server,
      authorizationOrigin: 'https://login.as.example',
      issuer: 'https://as.example',
      scopes: ['read'],
    });
    expect([stores.attempts.rows, bench.as.registrations, bench.as.sent]).toEqual([[], [], []]);
  });

  it('goes by the challenge that the ticket carries on', async () => {
    const { bench } = aBench();
    await bench.flows.preview(bench.ticket({ challenge: 'Bearer scope="x"' }), bench.server, NEVER);
    await bench.begin({ challenge: 'Bearer scope="y"' });
    expect(bench.as.discovered).toEqual(['Bearer scope="x"', 'Bearer scope="y"']);
  });
});

describe('a sign-in that begins', () => {
  it('sends state, verifier, scopes and the redirect URI of its context, and what the definition adds', async () => {
    const server = oauthServer({ authorizationParams: { access_type: 'offline' } });
    const { bench } = aBench(server);
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
    const { bench, stores } = aBench();
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
    const { bench } = aBench();
    for (let n = 0; n < 50; n++) await bench.begin();
    await expect(bench.begin()).rejects.toMatchObject({ code: 'rate_limited' });
    await bench.begin({ principalId: aPrincipal('bert') });
    bench.clock.advance(10 * MINUTE);
    await bench.begin();
  });

  it('says "try again" when the registration got no answer, and passes on what an admin has to do (B149)', async () => {
    const { bench, stores } = aBench();
    bench.as.onRegister = () => Promise.reject(new OAuthUnavailable('HTTP 503'));
    await expect(bench.begin()).rejects.toMatchObject({ name: 'ProxyError', code: 'upstream_unavailable' });
    const refused = new ProxyError('upstream_protocol', 'Set "clientId".');
    bench.as.onRegister = () => Promise.reject(refused);
    await expect(bench.begin()).rejects.toBe(refused);
    expect(stores.attempts.rows).toEqual([]);
  });

  it('is not hindered by a credential that cannot be opened any more', async () => {
    const { bench, stores, grantOf } = aBench();
    const { tenantId, id: serverId } = bench.server;
    const dead = { tenantId, serverId, owner: 'p:anna', binding: bench.ticket().binding, details: {} } as const;
    await stores.credentials.put({ ...dead, kind: 'grant', sealed: Buffer.from('rubbish') }, bench.clock.now());
    await bench.signIn();
    expect((await grantOf())?.accessToken.reveal()).toBe('access-1');
  });

  it('does not ask for less because the database is away', async () => {
    const { bench, stores } = aBench();
    stores.credentials.find = () => Promise.reject(new ProxyError('overloaded', 'away'));
    await expect(bench.begin()).rejects.toMatchObject({ code: 'overloaded' });
  });
});

describe('an attempt', () => {
  it('is found by its state under its own context only, whatever the context that is tried (T2, D8)', async () => {
    const { bench } = aBench();
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
    const { bench } = aBench();
    const begun = await bench.begin();
    const flipped = (begun.state.startsWith('A') ? 'B' : 'A') + begun.state.slice(1);
    for (const state of [flipped, 'x'.repeat(43), '', 'short', `${begun.state}A`, `${begun.state}\u0000`])
      expect(await bench.flows.findByState(begun.contextId, state)).toBeUndefined();
    expect((await bench.attempt(begun)).state).toBe('open');
    expect(await bench.comeBack(begun)).toEqual({ kind: 'connected' });
  });

  it('is over after ten minutes, and is never exchanged then (B158)', async () => {
    const { bench } = aBench();
    const begun = await bench.begin();
    const attempt = await bench.attempt(begun);
    bench.clock.advance(10 * MINUTE);
    expect(await bench.flows.findByState(begun.contextId, begun.state)).toBeUndefined();
    expect(await bench.flows.find(begun.id)).toBeUndefined();
    expect(await bench.flows.finish(attempt, answerOf(begun))).toEqual({ kind: 'taken' });
    expect(bench.as.exchanges).toEqual([]);
  });

  it('is found by its id in whatever state, for the page that tells how it ended', async () => {
    const { bench } = aBench();
    const begun = await bench.begin();
    expect((await bench.flows.find(begun.id))?.state).toBe('open');
    await bench.comeBack(begun);
    bench.clock.advance(60 * MINUTE);
    expect((await bench.flows.find(begun.id))?.state).toBe('connected');
    for (const id of ['', 'x', begun.state, `${begun.id}x`]) expect(await bench.flows.find(id)).toBeUndefined();
  });

  it('may overlap with others of the same person, and all finish, crosswise (B155)', async () => {
    const { bench, grantOf } = aBench();
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

  it('opens only as itself: with the sealed text of another one it fails, and nothing is exchanged (T22)', async () => {
    const { bench, stores } = aBench();
    const [mine, berts] = [await bench.begin(), await bench.begin({ principalId: aPrincipal('bert') })];
    const [a, b] = stores.attempts.rows;
    if (a === undefined || b === undefined) throw new Error('there are two');
    stores.attempts.rows = [
      { ...a, sealed: b.sealed },
      { ...b, sealed: a.sealed },
    ];
    for (const begun of [mine, berts]) {
      await expect(bench.comeBack(begun)).rejects.toMatchObject({ code: 'internal' });
      expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    }
    expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
  });

  it.each([
    ['another person', { principalId: aPrincipal('mallory') }],
    ['another server', { serverId: 'id-of-other' as never }],
    ['another binding', { binding: 'b' }],
  ])('that was edited in the table to be for %s does not open (T1, T22)', async (_, change) => {
    const { bench, stores } = aBench();
    const begun = await bench.begin();
    stores.attempts.rows = stores.attempts.rows.map((row) => ({ ...row, ...change }));
    await bench.comeBack(begun).catch(() => undefined);
    expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
  });
});

describe('a sign-in that ends', () => {
  it('keeps the grant, says so on this node, and has the tools found before it resolves', async () => {
    const { bench, grantOf } = aBench();
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
    expect(await grantOf()).toMatchObject({
      clientId: 'client-1',
      scopes: ['read'],
      place: { issuer: AS_PLACE.issuer },
    });
  });

  it('sends the code once, with the redirect URI and verifier it began with (B152)', async () => {
    const { bench } = aBench();
    await bench.signIn();
    const [sent, exchanged] = [bench.as.sent[0], bench.as.exchanges[0]];
    expect(exchanged).toMatchObject({ redirectUri: sent?.redirectUri, verifier: sent?.verifier, clientId: 'client-1' });
    expect(exchanged?.query.get('code')).toBe('c');
  });

  it('is well although the tools could not be found; the log says which server', async () => {
    const { bench, grantOf } = aBench();
    bench.onSignedIn = () => Promise.reject(new Error('down'));
    await bench.signIn();
    expect(await grantOf()).toBeDefined();
    expect(bench.log.join('')).toContain('tools were not refreshed');
  });

  it('exchanges once of fifty callbacks on two nodes; the others are told it is taken (T4, B161)', async () => {
    const { bench, stores } = aBench();
    const nodes = [bench.flows, bench.node()];
    const begun = await bench.begin();
    const attempts = await Promise.all(nodes.map((node) => bench.attempt(begun, node)));
    const ends = await Promise.all(
      Array.from({ length: 50 }, (_, n) => nodes[n % 2]?.finish(attempts[n % 2] as never, answerOf(begun))),
    );
    expect(ends.filter((end) => end?.kind === 'connected')).toHaveLength(1);
    expect(ends.filter((end) => end?.kind === 'taken')).toHaveLength(49);
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
    const { bench, stores } = aBench();
    const begun = await bench.begin();
    bench.registered = now;
    expect(await bench.comeBack(begun)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('changed') });
    expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    expect([bench.as.exchanges, stores.credentials.rows]).toEqual([[], []]);
  });

  it('goes on when only title, path or secret were edited', async () => {
    const { bench } = aBench();
    const begun = await bench.begin();
    bench.registered = { ...oauthServer({}, { title: 'New', url: 'https://notes.example/v2' }), revision: '2' };
    expect(await bench.comeBack(begun)).toEqual({ kind: 'connected' });
  });

  it('fails when we are registered anew meanwhile, for the code belongs to the old registration', async () => {
    const { bench, stores } = aBench();
    const begun = await bench.begin();
    const [key] = [...stores.clients.rows.keys()];
    const row = stores.clients.rows.get(key ?? '');
    if (row?.client !== undefined)
      stores.clients.rows.set(key ?? '', { ...row, client: { ...row.client, clientId: 'client-9' } });
    expect(await bench.comeBack(begun)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('again') });
    expect(bench.as.exchanges).toEqual([]);
  });

  it('uses the place it began with, not what the server says by now (B166)', async () => {
    const { bench, grantOf } = aBench();
    const begun = await bench.begin();
    bench.as.place = { ...AS_PLACE, tokenEndpoint: 'https://evil.example/token' };
    await bench.comeBack(begun);
    expect(bench.as.exchanges[0]?.tokenEndpoint).toBe('https://as.example/token');
    expect((await grantOf())?.place.tokenEndpoint).toBe('https://as.example/token');
  });

  it('by a no of the person is "denied", and what they had stays (B165)', async () => {
    const { bench, grantOf } = aBench();
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
    const { bench, stores } = aBench();
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

  it('by a fault of our own fails too, and says no more than that', async () => {
    const { bench, stores } = aBench();
    bench.as.onExchange = () => Promise.reject(new TypeError('secret c'));
    const begun = await bench.begin();
    await expect(bench.comeBack(begun)).rejects.toBeInstanceOf(TypeError);
    expect((await bench.flows.find(begun.id))?.state).toBe('failed');
    expect(stores.credentials.rows).toEqual([]);
  });

  it('that hangs is given up after 25 seconds, and leaves no timer', async () => {
    const { bench } = aBench();
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
    const { bench } = aBench();
    bench.as.onExchange = () => Promise.reject(new OAuthRefusal('invalid_client'));
    expect(await bench.comeBack(await bench.begin())).toMatchObject({ kind: 'failed' });
    bench.as.onExchange = async (nth) => aTokenSet(`access-${nth}`);
    await bench.signIn();
    expect(bench.as.sent.map(({ clientId }) => clientId)).toEqual(['client-1', 'client-2']);
  });

  it('replaces the account that was connected, with a version of its own (B215)', async () => {
    const { bench, stores, grantOf } = aBench();
    await bench.signIn();
    const before = stores.credentials.rows[0]?.version;
    bench.as.onExchange = async () => aTokenSet('other-account', { refreshToken: new Secret('r') });
    await bench.signIn();
    expect((await grantOf())?.accessToken.reveal()).toBe('other-account');
    expect(stores.credentials.rows.map(({ version }) => version)).not.toEqual([before]);
    expect(stores.credentials.rows).toHaveLength(1);
  });
});
