import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationRequest, SignInPlace } from '../../../src/credential/authorization-server.ts';
import { failureOf, OAuthBench, PUBLIC_CLIENT, placeAt, REDIRECT_URI, VERIFIER } from './an-oauth-bench.ts';

let bench: OAuthBench;
beforeEach(() => {
  bench = new OAuthBench();
});
afterEach(() => bench.close());

async function urlOf(request: Partial<AuthorizationRequest> = {}, place: Partial<SignInPlace> = {}): Promise<URL> {
  const whole = { redirectUri: REDIRECT_URI, state: 'st', verifier: VERIFIER, scopes: [], extraParams: {}, ...request };
  return new URL(await bench.servers.authorizationUrl(placeAt('https://as.test', place), PUBLIC_CLIENT, whole));
}
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

describe('the address a browser is sent to', () => {
  it('carries all that protects the sign-in, and no empty scope (T5)', async () => {
    const url = await urlOf();
    expect(url.origin + url.pathname).toBe('https://as.test/authorize');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: REDIRECT_URI,
      state: 'st',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      resource: 'https://u.test/mcp',
    });
  });

  it('asks for the scopes', async () => {
    expect((await urlOf({ scopes: ['a', 'b:c'] })).searchParams.get('scope')).toBe('a b:c');
  });

  it('asks for consent where access is wanted beyond the visit (OpenID Connect Core §11)', async () => {
    const prompt = async (wished?: string): Promise<string | null> => {
      const extraParams: Record<string, string> = wished === undefined ? {} : { prompt: wished };
      return (await urlOf({ scopes: ['offline_access'], extraParams })).searchParams.get('prompt');
    };
    expect(await prompt()).toBe('consent');
    expect(await prompt('login')).toBe('login consent');
    expect(await prompt('consent')).toBe('consent');
    expect(await prompt('none')).toBe('none');
    expect((await urlOf({ scopes: ['read'] })).searchParams.has('prompt')).toBe(false);
  });

  it('keeps the query that the endpoint has', async () => {
    const url = await urlOf({}, { authorizationEndpoint: 'https://as.test/authorize?policy=p1&lang=de' });
    expect(url.searchParams.get('policy')).toBe('p1');
    expect(url.searchParams.get('lang')).toBe('de');
  });

  it('takes the parameters of the definition, but none in the place of ours', async () => {
    const evil = Object.fromEntries(
      [
        'client_id',
        'redirect_uri',
        'state',
        'code_challenge',
        'code_challenge_method',
        'resource',
        'response_type',
        'response_mode',
        'scope',
        'nonce',
        'request',
        'request_uri',
      ].map((name) => [name, 'evil']),
    );
    const url = await urlOf({ extraParams: { ...evil, access_type: 'offline' } });
    expect(url.searchParams.get('access_type')).toBe('offline');
    expect(url.search).not.toContain('evil');
    const inEndpoint = await urlOf(
      {},
      { authorizationEndpoint: 'https://as.test/a?state=evil&scope=evil&client_id=evil' },
    );
    expect(inEndpoint.search).not.toContain('evil');
    for (const name of inEndpoint.searchParams.keys()) expect(inEndpoint.searchParams.getAll(name)).toHaveLength(1);
  });

  it.each(['javascript:alert(1)', 'http://as.test/authorize', 'data:text/html,x', 'as.test', ''])(
    'is never %j (T8)',
    async (authorizationEndpoint) => {
      expect(await failureOf(urlOf({}, { authorizationEndpoint }))).toMatchObject({ code: 'upstream_protocol' });
    },
  );
});
