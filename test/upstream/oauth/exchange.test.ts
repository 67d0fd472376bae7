import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CodeExchange, SignInPlace, TokenSet } from '../../../src/credential/authorization-server.ts';
import { failureOf, NEVER, OAuthBench, PUBLIC_CLIENT, placeAt, REDIRECT_URI, VERIFIER } from './an-oauth-bench.ts';
import type { Site } from './an-oauth-site.ts';

let bench: OAuthBench;
let as: Site;
beforeEach(async () => {
  bench = new OAuthBench();
  as = await bench.site({ '/token': { json: { access_token: 'at-1', refresh_token: 'rt-1', expires_in: '60' } } });
});
afterEach(() => bench.close());

const exchange = (
  query: string | Record<string, string>,
  place: Partial<SignInPlace> = {},
  rest: Partial<CodeExchange> = {},
): Promise<TokenSet> =>
  bench.servers.exchange(
    placeAt(as.origin, place),
    PUBLIC_CLIENT,
    { redirectUri: REDIRECT_URI, query: new URLSearchParams(query), state: 'st', verifier: VERIFIER, ...rest },
    NEVER,
  );

describe('a code', () => {
  it('is exchanged with verifier, resource and the redirect URI, in one request', async () => {
    const tokens = await exchange({ code: 'c1', state: 'st' });
    expect(tokens.accessToken.reveal()).toBe('at-1');
    expect(tokens.refreshToken?.reveal()).toBe('rt-1');
    expect(tokens).toMatchObject({ expiresInS: 60, scopes: undefined });
    expect(as.requests).toHaveLength(1);
    expect(as.requests[0]).toMatchObject({ method: 'POST', path: '/token' });
    expect(as.requests[0]?.form).toEqual({
      grant_type: 'authorization_code',
      code: 'c1',
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT_URI,
      resource: 'https://u.test/mcp',
      client_id: 'client-1',
    });
  });

  it.each([
    'https://px.test:443/oauth/callback/c1',
    'https://PX.test/oauth/callback/c1',
    'https://px.test/a/../oauth/callback/c1',
    'https://px.test/mcp-proxy/oauth/callback/c1?x=1',
    'http://127.0.0.1:8080/oauth/callback/c1',
  ])('is exchanged with the redirect URI %s, byte for byte as it was sent (B152, B154, T9)', async (redirectUri) => {
    await exchange({ code: 'c1', state: 'st' }, {}, { redirectUri });
    expect(as.requests[0]?.form['redirect_uri']).toBe(redirectUri);
    const url = await bench.servers.authorizationUrl(placeAt(as.origin), PUBLIC_CLIENT, {
      redirectUri,
      state: 'st',
      verifier: VERIFIER,
      scopes: [],
      extraParams: {},
    });
    expect(new URL(url).searchParams.get('redirect_uri')).toBe(redirectUri);
  });

  it('is sent with the resource as the document wrote it (B145)', async () => {
    await exchange({ code: 'c1', state: 'st' }, { resource: 'https://U.test:443/mcp/' });
    expect(as.requests[0]?.form['resource']).toBe('https://U.test:443/mcp/');
  });

  it('is sent once, also when the answer is lost or an error', async () => {
    for (const answer of [{ instead: 'reset' as const }, { status: 503 }, { status: 400, json: { error: 'x' } }]) {
      const before = as.requests.length;
      as.on({ '/token': answer });
      await failureOf(exchange({ code: 'c1', state: 'st' }));
      expect(as.requests.length - before).toBe(1);
    }
  });
});

/** MCP 2026-07-28 and RFC 9207 §2.4: was `iss` promised, and did it come? */
describe('the issuer of an answer (T3)', () => {
  const SUCCESS = { code: 'c1' };
  const ERROR = { error: 'access_denied', error_description: 'canary-description' };
  const outcomes: readonly (readonly [string, boolean, (origin: string) => string | undefined, boolean])[] = [
    ['promised and right', true, (origin) => origin, true],
    ['promised and missing', true, () => undefined, false],
    ['promised and foreign', true, () => 'https://evil.test', false],
    ['not promised and right', false, (origin) => origin, true],
    ['not promised and missing', false, () => undefined, true],
    ['not promised and foreign', false, () => 'https://evil.test', false],
    ['right but for a slash', true, (origin) => `${origin}/`, false],
    ['right but for its case', true, (origin) => origin.replace('http:', 'HTTP:'), false],
    ['empty', false, () => '', false],
  ];

  it.each(outcomes)('%s: a code', async (_what, answersWithIssuer, iss, holds) => {
    const said = iss(as.origin);
    const work = exchange(
      { ...SUCCESS, state: 'st', ...(said === undefined ? {} : { iss: said }) },
      { answersWithIssuer },
    );
    if (holds) await work;
    else expect(await failureOf(work)).toMatchObject({ name: 'OAuthRefusal', code: 'issuer_mismatch' });
    expect(as.requests).toHaveLength(holds ? 1 : 0);
  });

  it.each(outcomes)('%s: an error', async (_what, answersWithIssuer, iss, holds) => {
    const said = iss(as.origin);
    const error = await failureOf(
      exchange({ ...ERROR, state: 'st', ...(said === undefined ? {} : { iss: said }) }, { answersWithIssuer }),
    );
    expect(error).toMatchObject({ name: 'OAuthRefusal', code: holds ? 'access_denied' : 'issuer_mismatch' });
    expect(error.message).not.toContain('canary');
    expect(as.requests).toEqual([]);
  });

  it('said twice is wrong', async () => {
    const twice = `code=c1&state=st&iss=${as.origin}&iss=${as.origin}`;
    expect(await failureOf(exchange(twice))).toMatchObject({ code: 'issuer_mismatch' });
    expect(as.requests).toEqual([]);
  });
});

describe('an answer that does not hold (T2)', () => {
  it.each([
    ['another state', 'code=c1&state=other', 'state_mismatch'],
    ['no state', 'code=c1', 'state_mismatch'],
    ['two states', 'code=c1&state=st&state=st', 'state_mismatch'],
    ['an error for another attempt', 'error=access_denied&state=other', 'state_mismatch'],
    ['no code', 'state=st', 'invalid_answer'],
    ['an empty code', 'code=&state=st', 'invalid_answer'],
    ['two codes', 'code=a&code=b&state=st', 'invalid_answer'],
    ['a code and an error', 'code=a&error=server_error&state=st', 'server_error'],
    ['an error that is no word', `error=${'x'.repeat(100)}&state=st`, 'unknown_error'],
    ['an error that is a sentence', 'error=Call%20us%20at%20once&state=st', 'unknown_error'],
    ['an ID token beside the code', 'code=a&id_token=x&state=st', 'invalid_answer'],
    ['a JARM response', 'code=a&response=x&state=st', 'invalid_answer'],
  ])('with %s makes no token request', async (_what, query, code) => {
    expect(await failureOf(exchange(query))).toMatchObject({ name: 'OAuthRefusal', code });
    expect(as.requests).toEqual([]);
  });

  it('of a malicious server that bounced the browser to an honest one reaches neither', async () => {
    // The person's attempt is recorded for `evil`; the honest server answered it.
    const honest = as;
    const evil = await bench.site({ '/token': { json: { access_token: 'x' } } });
    const place = placeAt(evil.origin, { answersWithIssuer: true });
    for (const iss of [`&iss=${honest.origin}`, '']) {
      const query = new URLSearchParams(`code=honest-code&state=st${iss}`);
      const work = bench.servers.exchange(
        place,
        PUBLIC_CLIENT,
        { redirectUri: REDIRECT_URI, query, state: 'st', verifier: VERIFIER },
        NEVER,
      );
      expect(await failureOf(work)).toMatchObject({ code: 'issuer_mismatch' });
    }
    expect([honest.requests, evil.requests]).toEqual([[], []]);
  });
});
