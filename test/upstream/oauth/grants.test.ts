import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OAuthClient, TokenSet } from '../../../src/credential/authorization-server.ts';
import { ProxyError } from '../../../src/shared/errors.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { failureOf, grantPlaceOf, NEVER, OAuthBench, PUBLIC_CLIENT, placeAt, secretClient } from './an-oauth-bench.ts';
import type { Site, SiteAnswer } from './an-oauth-site.ts';

let bench: OAuthBench;
let as: Site;
beforeEach(async () => {
  bench = new OAuthBench();
  as = await bench.site({ '/token': { json: { access_token: 'at-2', expires_in: 600 } } });
});
afterEach(() => bench.close());

const place = () => grantPlaceOf(placeAt(as.origin));
const refresh = (signal = NEVER, client: OAuthClient = PUBLIC_CLIENT): Promise<TokenSet> =>
  bench.servers.refresh(place(), client, new Secret('rt-1'), signal);

describe('a refresh', () => {
  it('names resource and token, and no scope', async () => {
    await refresh();
    expect(as.requests.map(({ form }) => form)).toEqual([
      { grant_type: 'refresh_token', refresh_token: 'rt-1', resource: 'https://u.test/mcp', client_id: 'client-1' },
    ]);
  });

  it('that brings no refresh token and no lifetime says so, so that the old token stays (B190, B192)', async () => {
    as.on({ '/token': { json: { access_token: 'at-3' } } });
    expect(await refresh()).toMatchObject({ refreshToken: undefined, expiresInS: undefined, scopes: undefined });
  });

  it('gives what the latest answer says and nothing of an older one (B205)', async () => {
    as.on({ '/token': { json: { access_token: 'one', authed_user: { access_token: 'inner' }, scope: 'a' } } });
    expect((await refresh()).accessToken.reveal()).toBe('one');
    as.on({ '/token': { json: { access_token: 'two' } } });
    const second = await refresh();
    expect([second.accessToken.reveal(), second.scopes]).toEqual(['two', undefined]);
  });

  it.each<[string, SiteAnswer]>([
    ['503', { status: 503 }],
    ['500 that speaks of the grant', { status: 500, json: { error: 'invalid_grant' } }],
    ['a login page', { text: '<html>' }],
    ['a lost connection', { instead: 'reset' }],
    ['400 without JSON', { status: 400, text: 'Bad Request' }],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }],
    ['more than is read', { text: `{"access_token":"a","x":"${'x'.repeat(300_000)}"}` }],
  ])('that gets %s says nothing about the grant (B195)', async (_what, answer) => {
    as.on({ '/token': answer, '/elsewhere': { json: { access_token: 'x' } } });
    expect(await failureOf(refresh())).toMatchObject({ name: 'OAuthUnavailable' });
    expect(as.paths).toEqual(['/token']);
    as.on({ '/token': { json: { access_token: 'back' } } });
    expect((await refresh()).accessToken.reveal()).toBe('back');
  });

  it('that reaches nobody says nothing about the grant (B195)', async () => {
    const nowhere = (tokenEndpoint: string) =>
      failureOf(bench.servers.refresh({ ...place(), tokenEndpoint }, PUBLIC_CLIENT, new Secret('rt-1'), NEVER));
    expect(await nowhere('https://no-such-host.test/token')).toMatchObject({ name: 'OAuthUnavailable' });
    // A TLS handshake with a server that speaks none.
    expect(await nowhere(as.origin.replace('http:', 'https:'))).toMatchObject({ name: 'OAuthUnavailable' });
    await as.close();
    expect(await failureOf(refresh())).toMatchObject({ name: 'OAuthUnavailable' });
  });

  it('that the door does not let out keeps the word of the door (B234)', async () => {
    bench.guard = () => {
      throw new ProxyError('denied', 'That address may not be dialled.');
    };
    expect(await failureOf(refresh())).toMatchObject({ name: 'ProxyError', code: 'denied' });
    expect(as.requests).toEqual([]);
  });

  it('that is turned away says for how long (B195)', async () => {
    as.on({ '/token': { status: 429, headers: { 'retry-after': '7' }, json: { error: 'slow_down' } } });
    expect(await failureOf(refresh())).toMatchObject({ name: 'OAuthUnavailable', retryAfterMs: 7_000 });
  });

  it.each<SiteAnswer>([{ instead: 'hang' }, { instead: 'drip' }])(
    'that is not answered in twenty seconds is over: %j (B195)',
    async (answer) => {
      as.on({ '/token': answer });
      const failing = failureOf(refresh());
      await as.asked(1);
      bench.clock.advance(19_999);
      expect(as.requests[0]?.isWaiting()).toBe(true);
      bench.clock.advance(1);
      expect(await failing).toMatchObject({ name: 'OAuthUnavailable' });
      await as.until(() => as.requests[0]?.isWaiting() === false, 'the socket to close');
      expect(bench.clock.pending).toBe(0);
    },
  );

  it('ends when its caller leaves, for the reason it left', async () => {
    as.on({ '/token': { instead: 'hang' } });
    const leaver = new AbortController();
    const failing = failureOf(refresh(leaver.signal));
    await as.asked(1);
    const reason = new Error('left');
    leaver.abort(reason);
    expect(await failing).toBe(reason);
    expect(await failureOf(refresh(leaver.signal))).toBe(reason);
    expect(as.requests).toHaveLength(1);
  });

  it.each(['invalid_grant', 'invalid_request', 'invalid_client', 'invalid_scope'])(
    'that is refused with %s says so, and just that (B197)',
    async (code) => {
      as.on({ '/token': { status: 400, json: { error: code, error_description: 'canary' } } });
      expect(await failureOf(refresh())).toMatchObject({ name: 'OAuthRefusal', code });
    },
  );

  it('goes nowhere in clear, whatever the place says (B141)', async () => {
    const canary = await bench.canary({ '/token': { json: { access_token: 'x' } } });
    const unsafe = { ...place(), tokenEndpoint: `${canary.origin}/token` };
    const error = await failureOf(bench.servers.refresh(unsafe, secretClient('s'), new Secret('rt-1'), NEVER));
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    expect(canary.requests).toEqual([]);
  });
});

describe('grants without a person', () => {
  it('ask for the scopes and the resource by the client alone', async () => {
    const tokens = await bench.servers.clientCredentials(place(), secretClient('s'), ['a', 'b'], NEVER);
    expect(tokens.accessToken.reveal()).toBe('at-2');
    expect(as.requests[0]?.form).toEqual({
      grant_type: 'client_credentials',
      resource: 'https://u.test/mcp',
      scope: 'a b',
    });
  });

  it("exchange the caller's own token (RFC 8693)", async () => {
    as.on({ '/token': { json: { access_token: 'at-x', token_type: 'N_A', issued_token_type: 'urn:x' } } });
    const tokens = await bench.servers.exchangeToken(place(), secretClient('s'), new Secret('subject'), [], NEVER);
    expect(tokens.accessToken.reveal()).toBe('at-x');
    expect(as.requests[0]?.form).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'subject',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: 'https://u.test/mcp',
    });
  });
});

describe('a revocation (B213)', () => {
  const revoke = (hint: 'refresh_token' | 'access_token' = 'refresh_token', rest: object = {}): Promise<void> =>
    bench.servers.revoke({ ...place(), ...rest }, PUBLIC_CLIENT, new Secret('rt-1'), hint, NEVER);

  it.each<SiteAnswer>([{ status: 200 }, { status: 204 }, { status: 200, text: 'ok' }])(
    'is done when the server says so: %j',
    async (answer) => {
      as.on({ '/revoke': answer });
      await revoke('access_token');
      expect(as.requests[0]?.form).toEqual({
        token: 'rt-1',
        token_type_hint: 'access_token',
        client_id: 'client-1',
      });
    },
  );

  it('is nothing where there is no such endpoint', async () => {
    await revoke('refresh_token', { revocationEndpoint: undefined });
    expect(as.requests).toEqual([]);
  });

  it('of a kind that cannot be revoked is over', async () => {
    as.on({ '/revoke': { status: 400, json: { error: 'unsupported_token_type' } } });
    await revoke('access_token');
  });

  it('that fails says whether to try again', async () => {
    as.on({ '/revoke': { status: 503, headers: { 'retry-after': '3' } } });
    expect(await failureOf(revoke())).toMatchObject({ name: 'OAuthUnavailable', retryAfterMs: 3_000 });
    as.on({ '/revoke': { status: 401, json: { error: 'invalid_client' } } });
    expect(await failureOf(revoke())).toMatchObject({ name: 'OAuthRefusal', code: 'invalid_client' });
  });

  it('that hangs is given up after ten seconds', async () => {
    as.on({ '/revoke': { instead: 'hang' } });
    const failing = failureOf(revoke());
    await as.asked(1);
    bench.clock.advance(10_000);
    expect(await failing).toMatchObject({ name: 'OAuthUnavailable' });
  });
});
