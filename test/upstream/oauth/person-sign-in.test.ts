import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../../src/shared/secret.ts';
import { IdentityBench, type IdToken, OIDC, REQUEST } from './an-identity-provider.ts';
import { failureOf, NEVER, printed, REDIRECT_URI, VERIFIER } from './an-oauth-bench.ts';
import type { Site } from './an-oauth-site.ts';

let bench: IdentityBench;
let idp: Site;
beforeEach(async () => {
  bench = await IdentityBench.open();
  ({ idp } = bench);
});
afterEach(() => bench.close());

describe('the way to the identity provider', () => {
  it('carries state, nonce and PKCE', async () => {
    bench.publish({ authorization_endpoint: `${idp.origin}/authorize?policy=p1` });
    const url = new URL(await bench.people.authorizationUrl(bench.provider(), REQUEST, NEVER));
    expect(url.origin + url.pathname).toBe(`${idp.origin}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      policy: 'p1',
      response_type: 'code',
      client_id: 'web',
      redirect_uri: REDIRECT_URI,
      scope: 'openid',
      state: 'st',
      nonce: 'no',
      code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
      code_challenge_method: 'S256',
    });
  });

  it('asks for the claims that name the person', async () => {
    const url = await bench.people.authorizationUrl(bench.provider({ claim: 'email' }), REQUEST, NEVER);
    expect(new URL(url).searchParams.get('scope')).toBe('openid profile email');
  });

  it('is asked for once in ten minutes for each issuer and client', async () => {
    const ask = (rest = {}) => bench.people.authorizationUrl(bench.provider(rest), REQUEST, NEVER);
    await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(idp.paths).toEqual([OIDC]);
    await ask({ clientId: 'other' });
    expect(idp.requests).toHaveLength(2);
    bench.clock.advance(10 * 60_000);
    await ask();
    expect(idp.requests).toHaveLength(3);
    expect(bench.clock.pending).toBe(0);
  });

  it('is found for issuers with a path at their end, and must be of that issuer as text', async () => {
    const issuer = `${idp.origin}/realms/r1`;
    idp.on({ [`/realms/r1${OIDC}`]: { json: { issuer: `${issuer}/` } } });
    const error = await failureOf(bench.people.authorizationUrl(bench.provider({ issuer }), REQUEST, NEVER));
    expect(error).toMatchObject({ code: 'upstream_protocol' });
    expect(error.message).toContain('names another issuer');
  });

  it.each(['authorization_endpoint', 'token_endpoint', 'jwks_uri'])(
    'is not taken when its %s is in clear or missing (T8)',
    async (field) => {
      const canary = await bench.canary({ '/x': { json: { keys: [] } } });
      for (const value of [`${canary.origin}/x`, undefined]) {
        bench.publish({ [field]: value });
        const error = await failureOf(bench.people.authorizationUrl(bench.provider(), REQUEST, NEVER));
        expect(error).toMatchObject({ code: 'upstream_protocol' });
        expect(error.message).toContain(`"${field}"`);
      }
      expect(canary.requests).toEqual([]);
    },
  );

  it('is "try later" while the provider is down, and is not asked in clear', async () => {
    idp.on({ [OIDC]: { status: 503 } });
    const ask = (issuer: string) =>
      failureOf(bench.people.authorizationUrl(bench.provider({ issuer }), REQUEST, NEVER));
    expect(await ask(idp.origin)).toMatchObject({ code: 'upstream_unavailable' });
    const canary = await bench.canary();
    expect(await ask(canary.origin)).toMatchObject({ code: 'upstream_protocol' });
    expect(canary.requests).toEqual([]);
  });
});

describe('a person', () => {
  it('is who the ID token says, checked with the key of the provider', async () => {
    expect(await bench.prove()).toBe('anna');
    expect(idp.paths).toEqual([OIDC, '/token', '/jwks']);
    expect(idp.at('/token')[0]?.form).toEqual({
      grant_type: 'authorization_code',
      code: 'c1',
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT_URI,
      client_id: 'web',
    });
  });

  it('is proved again without asking for the keys again', async () => {
    await bench.prove();
    await bench.prove();
    expect(idp.at('/jwks')).toHaveLength(1);
  });

  it('may be named by another claim', async () => {
    await bench.issue({ claims: { preferred_username: 'anna@acme' } });
    expect(await bench.prove(undefined, { claim: 'preferred_username' })).toBe('anna@acme');
  });

  it('is not named by an address that the provider does not vouch for', async () => {
    await bench.issue({ claims: { email: 'anna@acme.test', email_verified: false } });
    expect(await failureOf(bench.prove(undefined, { claim: 'email' }))).toMatchObject({ code: 'denied' });
    await bench.issue({ claims: { email: 'anna@acme.test', email_verified: true } });
    expect(await bench.prove(undefined, { claim: 'email' })).toBe('anna@acme.test');
  });

  it.each<unknown>([7, true, null, '', ' anna', ['anna'], { a: 1 }, 'x'.repeat(256), 'a\ud800'])(
    'is nobody when the claim is %j',
    async (value) => {
      await bench.issue({ claims: { who: value } });
      expect(await failureOf(bench.prove(undefined, { claim: 'who' }))).toMatchObject({ code: 'denied' });
    },
  );

  it('is nobody when the claim is missing or a word of the language', async () => {
    for (const claim of ['upn', 'constructor', '__proto__'])
      expect(await failureOf(bench.prove(undefined, { claim }))).toMatchObject({ code: 'denied' });
  });

  it('is proved by a client with its secret', async () => {
    await bench.prove(undefined, { clientSecret: new Secret('s1') });
    expect(idp.at('/token')[0]?.headers.authorization).toBe(`Basic ${btoa('web:s1')}`);
    bench.publish({ token_endpoint_auth_methods_supported: ['client_secret_post'] });
    bench.clock.advance(10 * 60_000);
    await bench.prove(undefined, { clientSecret: new Secret('s1') });
    expect(idp.at('/token')[1]?.form).toMatchObject({ client_secret: 's1' });
  });
});

describe('a person is not believed', () => {
  const HOUR = 3600;
  const now = Math.floor(Date.now() / 1000);
  it.each<[string, IdToken]>([
    ['a signature of another key', { forged: true }],
    ['a key that is not published', { header: { kid: 'other' } }],
    ['another issuer', { claims: { iss: 'https://evil.test' } }],
    ['another audience', { claims: { aud: 'other' } }],
    ['more audiences than us', { claims: { aud: ['web', 'other'] } }],
    ['another nonce', { claims: { nonce: 'other' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['an end that is over', { claims: { iat: now - 2 * HOUR, exp: now - HOUR } }],
    ['no end', { claims: { exp: undefined } }],
    ['a start to come', { claims: { nbf: now + HOUR } }],
    ['no subject', { claims: { sub: undefined } }],
  ])('with %s', async (_what, token) => {
    await bench.issue(token);
    expect(await failureOf(bench.prove())).toMatchObject({ name: 'ProxyError', code: 'denied' });
  });

  it('with an ID token that is unsigned, signed with the secret, missing or no token', async () => {
    const claims = { iss: idp.origin, aud: 'web', sub: 'anna', nonce: 'no', iat: now, exp: now + 60 };
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const secret = 'a-secret-that-is-long-enough-for-hs256';
    const mac = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret));
    for (const token of [`${encode({ alg: 'none' })}.${encode(claims)}.`, mac, undefined, '', 'a.b.c', 'nonsense']) {
      bench.answerWith(token);
      const failing = bench.prove(undefined, { clientSecret: new Secret(secret) });
      expect(await failureOf(failing)).toMatchObject({ code: 'denied' });
    }
  });

  it.each([
    ['an error', 'error=access_denied&state=st&error_description=canary'],
    ['another state', 'code=c1&state=other'],
    ['another issuer', 'code=c1&state=st&iss=https://evil.test'],
    ['no code', 'state=st'],
  ])('who comes back with %s, and no token is asked for', async (_what, query) => {
    const error = await failureOf(bench.prove(query));
    expect(error).toMatchObject({ code: 'denied' });
    expect(printed(error)).not.toContain('canary');
    expect(idp.at('/token')).toEqual([]);
  });

  it('who comes back without the issuer that was promised (T3)', async () => {
    bench.publish({ authorization_response_iss_parameter_supported: true });
    expect(await failureOf(bench.prove())).toMatchObject({ code: 'denied' });
    expect(idp.at('/token')).toEqual([]);
    expect(await bench.prove(`code=c1&state=st&iss=${encodeURIComponent(idp.origin)}`)).toBe('anna');
  });

  it('when the code is refused; a refused client is for the admin to see', async () => {
    idp.on({ '/token': { status: 400, json: { error: 'invalid_grant' } } });
    expect(await failureOf(bench.prove())).toMatchObject({ code: 'denied' });
    idp.on({ '/token': { status: 401, json: { error: 'invalid_client' } } });
    expect(await failureOf(bench.prove())).toMatchObject({ code: 'upstream_protocol' });
  });

  it('while the provider gives no answer: then it is "try later"', async () => {
    idp.on({ '/jwks': { status: 500 } });
    expect(await failureOf(bench.prove())).toMatchObject({ code: 'upstream_unavailable' });
    idp.on({ '/token': { status: 503 } });
    expect(await failureOf(bench.prove())).toMatchObject({ code: 'upstream_unavailable' });
    const leaver = new AbortController();
    leaver.abort(new Error('left'));
    const left = bench.people.prove(bench.provider(), REQUEST, new URLSearchParams('code=c&state=st'), leaver.signal);
    expect((await failureOf(left)).message).toBe('left');
  });

  it('by keys from a redirect (T8)', async () => {
    const canary = await bench.canary({ '/jwks': { json: { keys: [] } } });
    idp.on({ '/jwks': { status: 302, headers: { location: `${canary.origin}/jwks` } } });
    await failureOf(bench.prove());
    expect(canary.requests).toEqual([]);
  });
});
