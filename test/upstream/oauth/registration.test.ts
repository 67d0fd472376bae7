import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Registration, SignInPlace } from '../../../src/credential/authorization-server.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { failureOf, NEVER, OAuthBench, placeAt, printed, REDIRECT_URI } from './an-oauth-bench.ts';
import type { Site, SiteAnswer } from './an-oauth-site.ts';

let bench: OAuthBench;
let as: Site;
beforeEach(async () => {
  bench = new OAuthBench();
  as = await bench.site();
});
afterEach(() => bench.close());

const register = (place: Partial<SignInPlace> = {}, initialAccessToken?: Secret): Promise<Registration> =>
  bench.servers.register(
    placeAt(as.origin, place),
    { redirectUri: REDIRECT_URI, clientName: 'Keybearer', initialAccessToken },
    NEVER,
  );
const answering = (answer: SiteAnswer): void => void as.on({ '/register': answer });
const sent = (): Record<string, unknown> => JSON.parse(as.requests.at(-1)!.body) as Record<string, unknown>;

describe('a registration', () => {
  it('says what we are and where people come back to (B152, B154)', async () => {
    answering({ status: 201, json: { client_id: 'c1', client_secret: 's1', client_secret_expires_at: 0 } });
    const { client, secretExpiresAt } = await register();
    expect(as.requests[0]?.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(as.requests[0]?.headers.authorization).toBeUndefined();
    expect(sent()).toEqual({
      application_type: 'web',
      client_name: 'Keybearer',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    });
    expect(client).toMatchObject({ clientId: 'c1', authentication: { kind: 'secret', method: 'client_secret_basic' } });
    expect(client.authentication.kind === 'secret' && client.authentication.secret.reveal()).toBe('s1');
    expect(secretExpiresAt).toBeUndefined();
  });

  it('is as good with 200 as with 201 (B149)', async () => {
    answering({ status: 200, json: { client_id: 'c1' } });
    expect(await register()).toEqual({
      client: { clientId: 'c1', authentication: { kind: 'none' } },
      secretExpiresAt: undefined,
    });
  });

  it.each([
    [undefined, 'client_secret_basic'],
    [['none', 'client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['none', 'client_secret_post'], 'client_secret_post'],
    [['private_key_jwt', 'none'], 'none'],
  ])('asks for what the server takes: %j → %s', async (tokenAuthMethods, method) => {
    answering({ status: 201, json: { client_id: 'c1', client_secret: 's1' } });
    const { client } = await register({ tokenAuthMethods });
    expect(sent()['token_endpoint_auth_method']).toBe(method);
    expect(client.authentication).toMatchObject(method === 'none' ? { kind: 'none' } : { kind: 'secret', method });
  });

  it('goes by what the server made of it (RFC 7591 §3.2.1)', async () => {
    const made = async (json: object): Promise<unknown> => {
      answering({ status: 201, json: { client_id: 'c1', ...json } });
      return (await register()).client.authentication;
    };
    expect(await made({ client_secret: 's', token_endpoint_auth_method: 'client_secret_post' })).toMatchObject({
      method: 'client_secret_post',
    });
    expect(await made({ client_secret: 's', token_endpoint_auth_method: 'none' })).toEqual({ kind: 'none' });
    expect(await made({ token_endpoint_auth_method: 'client_secret_basic' })).toEqual({ kind: 'none' });
    expect(await made({ client_secret: null })).toEqual({ kind: 'none' });
  });

  it.each([
    [1_800_000_000, 1_800_000_000_000],
    ['1800000000', 1_800_000_000_000],
    [0, undefined],
    ['soon', undefined],
    [null, undefined],
  ])('with a secret that ends at %j tells when', async (said, at) => {
    answering({ status: 201, json: { client_id: 'c', client_secret: 's', client_secret_expires_at: said } });
    expect((await register()).secretExpiresAt).toBe(at);
  });

  it('carries the token that lets us in, and the token goes nowhere else (B151)', async () => {
    answering({ status: 201, json: { client_id: 'c1' } });
    await register({}, new Secret('canary-initial'));
    expect(as.requests[0]?.headers.authorization).toBe('Bearer canary-initial');
    expect(as.requests[0]?.body).not.toContain('canary-initial');
    answering({ status: 401, json: { error: 'invalid_token', error_description: 'canary-initial' } });
    const error = await failureOf(register({}, new Secret('canary-initial')));
    expect(printed(error)).not.toContain('canary-initial');
  });

  it.each<[string, SiteAnswer]>([
    ['401', { status: 401, headers: { 'www-authenticate': 'Bearer' } }],
    ['403', { status: 403, json: { error: 'access_denied' } }],
    ['400', { status: 400, json: { error: 'invalid_client_metadata' } }],
    ['404', { status: 404 }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
    ['201 without client id', { status: 201, json: { client_secret: 's' } }],
    ['200 HTML', { text: '<html>' }],
    [
      'a way to prove ourselves that we do not know',
      { status: 201, json: { client_id: 'c', client_secret: 's', token_endpoint_auth_method: 'client_secret_jwt' } },
    ],
  ])('that gets %s tells the admin what to set, after one request (B149)', async (_what, answer) => {
    answering(answer);
    const error = await failureOf(register());
    expect(error).toMatchObject({ name: 'ProxyError', code: 'upstream_protocol' });
    expect(error.message).toContain('"clientId" and "clientSecret"');
    expect(error.message).toContain('"initialAccessToken"');
    expect(as.paths).toEqual(['/register']);
  });

  it('is not tried where none is offered, or none could be used', async () => {
    for (const place of [{ registrationEndpoint: undefined }, { tokenAuthMethods: ['tls_client_auth'] }])
      expect(await failureOf(register(place))).toMatchObject({ code: 'upstream_protocol' });
    expect(as.requests).toEqual([]);
  });

  it.each<[string, SiteAnswer]>([
    ['503', { status: 503, headers: { 'retry-after': '5' } }],
    ['429', { status: 429, headers: { 'retry-after': '5' }, json: { error: 'x' } }],
    ['a lost connection', { instead: 'reset' }],
  ])('that gets %s may be tried later', async (_what, answer) => {
    answering(answer);
    expect(await failureOf(register())).toMatchObject({ name: 'OAuthUnavailable' });
  });

  it('follows no redirect and speaks no cleartext (B234, T8)', async () => {
    const canary = await bench.canary({ '/x': { status: 201, json: { client_id: 'evil' } } });
    answering({ status: 307, headers: { location: `${canary.origin}/x` } });
    await failureOf(register());
    await failureOf(register({ registrationEndpoint: `${canary.origin}/x` }));
    expect(canary.requests).toEqual([]);
  });
});
