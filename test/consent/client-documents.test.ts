import type { AddressInfo } from 'node:net';
import express from 'express';
import { createLocalJWKSet, importJWK, jwtVerify, SignJWT } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { createClientDocuments } from '../../src/consent/client-documents.ts';
import { createClientKeys } from '../../src/credential/client-keys.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { aClientsBench, MASTER_KEY, oauthServer } from '../credential/clients-bench.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Our documents on a port, behind a front that is reached at `publicUrl`. */
async function aSite(publicUrl: string) {
  const bench = aClientsBench();
  bench.site.url = publicUrl;
  const masterKeys = createStaticKeyProvider([MASTER_KEY]);
  const keys = createClientKeys({ store: bench.serviceKeys, masterKeys, clock: bench.clock });
  const app = express().use(
    createClientDocuments({ publicUrl: () => bench.site.url, publicJwks: () => keys.publicJwks() }),
  );
  const listener = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  closers.push(() => new Promise((resolve) => (listener.closeAllConnections(), void listener.close(() => resolve()))));
  const origin = `http://127.0.0.1:${String((listener.address() as AddressInfo).port)}`;
  /** As an authorization server fetches it: by the whole address, through the front. */
  const fetchUrl = (url: string) => fetch(url.replace(publicUrl.replace(/\/+$/, ''), origin), { redirect: 'manual' });
  const read = async (url: string) => (await (await fetchUrl(url)).json()) as Record<string, unknown>;
  const clientOf = (tokenAuthMethods?: readonly string[]) =>
    bench.signIn(oauthServer(), { takesMetadataDocument: true, tokenAuthMethods });
  return { ...bench, keys, read, fetchUrl, clientOf };
}

describe('our metadata document', () => {
  it.each(['https://px.test', 'https://px.test/', 'https://px.test/mcp-proxy/'])(
    'under %s names itself, our redirect URI and our key, exactly as we use them (B154)',
    async (publicUrl) => {
      const site = await aSite(publicUrl);
      const { clientId } = await site.clientOf();
      const base = publicUrl.replace(/\/+$/, '');
      expect(await site.read(clientId)).toEqual({
        client_id: clientId,
        client_name: 'Keybearer',
        client_uri: base,
        redirect_uris: [site.clients.redirectUri(oauthServer())],
        application_type: 'web',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks_uri: `${base}/oauth/jwks.json`,
      });
    },
  );

  it('for servers that take no such proof names no key', async () => {
    const site = await aSite('https://px.test');
    const { clientId } = await site.clientOf(['none']);
    const document = await site.read(clientId);
    expect(document).toMatchObject({
      client_id: clientId,
      redirect_uris: [site.clients.redirectUri(oauthServer())],
      token_endpoint_auth_method: 'none',
    });
    expect(document).not.toHaveProperty('jwks_uri');
    expect(document).not.toHaveProperty('token_endpoint_auth_signing_alg');
  });

  it('leads to a key that proves what we sign', async () => {
    const site = await aSite('https://px.test');
    const { clientId, authentication } = await site.clientOf();
    if (authentication.kind !== 'key') throw new Error('our key proves us');
    const token = await new SignJWT({ iss: clientId })
      .setProtectedHeader({ alg: 'ES256', kid: authentication.keyId })
      .sign(authentication.privateKey);
    const { jwks_uri: jwksUri } = await site.read(clientId);
    const jwks = (await site.read(String(jwksUri))) as unknown as Parameters<typeof createLocalJWKSet>[0];
    const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), { algorithms: ['ES256'] });
    expect(payload.iss).toBe(clientId);
    for (const jwk of jwks.keys) {
      expect(jwk).not.toHaveProperty('d');
      expect(await importJWK(jwk)).toMatchObject({ type: 'public' });
    }
  });

  it('may be kept for an hour, and is JSON', async () => {
    const site = await aSite('https://px.test');
    for (const url of [(await site.clientOf()).clientId, 'https://px.test/oauth/jwks.json']) {
      const { headers, status } = await site.fetchUrl(url);
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600']);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    }
  });

  it('takes its address from the public URL and from no header (T9, T17)', async () => {
    const site = await aSite('https://px.test');
    const { clientId } = await site.clientOf();
    const origin = (await site.fetchUrl(clientId)).url;
    const response = await fetch(origin, {
      headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
    });
    expect(await response.json()).toMatchObject({ client_id: clientId });
  });

  it.each([
    'short.json',
    '6LaUHsALLKGkVQVFoXBfZKx.json',
    '6LaUHsALLKGkVQVFoXBfZK',
    '6LaUHsALLKGkVQVFoXBfZK-private.json',
    '..%2F..%2Fetc%2Fpasswd.json',
    '%3Cscript%3Ealert(1)%3C%2F.json',
  ])('is none for %s', async (file) => {
    const site = await aSite('https://px.test');
    const response = await site.fetchUrl(`https://px.test/oauth/client-metadata/${file}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('script');
  });

  it('without a context is one that nobody signs in with: its redirect URI is no callback of ours', async () => {
    const site = await aSite('https://px.test');
    const url = 'https://px.test/oauth/client-metadata.json';
    expect(await site.read(url)).toMatchObject({
      client_id: url,
      redirect_uris: ['https://px.test/oauth/callback'],
    });
  });
});
