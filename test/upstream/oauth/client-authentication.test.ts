import { decodeJwt, decodeProtectedHeader, generateKeyPair, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GrantPlace, OAuthClient } from '../../../src/credential/authorization-server.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { grantPlaceOf, NEVER, OAuthBench, PUBLIC_CLIENT, placeAt, secretClient } from './an-oauth-bench.ts';
import type { Site, SiteRequest } from './an-oauth-site.ts';

let bench: OAuthBench;
let as: Site;
beforeEach(async () => {
  bench = new OAuthBench();
  as = await bench.site({ '/token': { json: { access_token: 'a' } } });
});
afterEach(() => bench.close());

/** The request as the authorization server saw it. */
async function seenWith(client: OAuthClient, rest: Partial<GrantPlace> = {}): Promise<SiteRequest> {
  const place = { ...grantPlaceOf(placeAt(as.origin)), ...rest };
  await bench.servers.refresh(place, client, new Secret('rt'), NEVER);
  return as.requests.at(-1)!;
}

/** RFC 6749 §2.3.1, read by the book. */
function basicOf(request: SiteRequest): readonly string[] {
  const [, encoded = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const decode = (text: string): string => new URLSearchParams(`v=${text}`).get('v') ?? '';
  return Buffer.from(encoded, 'base64').toString('latin1').split(':').map(decode);
}

describe('a client with a secret', () => {
  it('encodes id and secret before they are put together (B212)', async () => {
    const secret = 'p+l/u%s= ä:"\\&é';
    const client = { ...secretClient(secret), clientId: 'a:b' };
    const request = await seenWith(client);
    expect(basicOf(request)).toEqual(['a:b', secret]);
    expect(request.form).not.toHaveProperty('client_secret');
  });

  it('leaves plain characters plain, for servers that do not decode (B212)', async () => {
    const { headers } = await seenWith({ ...secretClient('GOCSPX-a_b.c*1'), clientId: '0b-1_2.apps' });
    const raw = Buffer.from(headers.authorization!.slice('Basic '.length), 'base64').toString();
    expect(raw).toBe('0b-1_2.apps:GOCSPX-a_b.c*1');
  });

  it('sends them in the body where the server lists only that (B212)', async () => {
    const request = await seenWith(secretClient('s+1%'), { tokenAuthMethods: ['client_secret_post', 'none'] });
    expect(request.headers.authorization).toBeUndefined();
    expect(request.form).toMatchObject({ client_id: 'client-1', client_secret: 's+1%' });
  });

  it('keeps to what it was registered with where the server takes both, or says nothing it knows', async () => {
    const both = { tokenAuthMethods: ['client_secret_basic', 'client_secret_post'] };
    expect((await seenWith(secretClient('s', 'client_secret_post'), both)).form).toHaveProperty('client_secret');
    expect((await seenWith(secretClient('s'), both)).headers.authorization).toBeDefined();
    for (const tokenAuthMethods of [undefined, [], ['tls_client_auth']])
      expect((await seenWith(secretClient('s'), { tokenAuthMethods })).headers.authorization).toBeDefined();
    const onlyBasic = { tokenAuthMethods: ['client_secret_basic'] };
    expect((await seenWith(secretClient('s', 'client_secret_post'), onlyBasic)).headers.authorization).toBeDefined();
  });

  it('is asked for nothing at the revocation endpoint that the token endpoint does not get', async () => {
    as.on({ '/revoke': {} });
    await bench.servers.revoke(
      grantPlaceOf(placeAt(as.origin)),
      secretClient('s'),
      new Secret('t'),
      'refresh_token',
      NEVER,
    );
    expect(basicOf(as.requests[0]!)).toEqual(['client-1', 's']);
  });
});

describe('a client with a key', () => {
  it('signs for the issuer and for nothing else, as text (T2)', async () => {
    for (const alg of ['ES256', 'RS256', 'EdDSA']) {
      const { privateKey, publicKey } = await generateKeyPair(alg);
      const client: OAuthClient = {
        clientId: 'https://px.test/oauth/client-metadata.json',
        authentication: { kind: 'key', keyId: 'k1', privateKey },
      };
      const issuer = 'https://AS.test:443/realms/r1/';
      const { form, headers } = await seenWith(client, { issuer });
      const assertion = form['client_assertion']!;
      expect(headers.authorization).toBeUndefined();
      expect(form['client_assertion_type']).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      expect(decodeProtectedHeader(assertion)).toMatchObject({ kid: 'k1' });
      expect(decodeJwt(assertion)).toMatchObject({ aud: issuer, iss: client.clientId, sub: client.clientId });
      await jwtVerify(assertion, publicKey);
    }
  });

  it('signs anew for each request', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const client: OAuthClient = { clientId: 'c', authentication: { kind: 'key', keyId: 'k1', privateKey } };
    const ids = [await seenWith(client), await seenWith(client)].map(
      ({ form }) => decodeJwt(form['client_assertion']!).jti,
    );
    expect(new Set(ids).size).toBe(2);
  });
});

describe('a public client', () => {
  it('says who it is and proves nothing', async () => {
    const { form, headers } = await seenWith(PUBLIC_CLIENT);
    expect(headers.authorization).toBeUndefined();
    expect(form).toMatchObject({ client_id: 'client-1' });
  });
});
