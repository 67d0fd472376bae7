import { describe, expect, it } from 'vitest';
import type { StoredClient } from '../../src/credential/client-store.ts';
import type { Clients } from '../../src/credential/clients.ts';
import { deferred } from '../support/deferred.ts';
import { aClientsBench, NOTES, oauthServer } from './clients-bench.ts';
import { AS_PLACE, aRegistration } from './fake-authorization-servers.ts';
import { InMemoryClients } from './in-memory-oauth.ts';

const CALLBACK = 'https://px.test/oauth/callback/6LaUHsALLKGkVQVFoXBfZK';
const DOCUMENT = 'https://px.test/oauth/client-metadata/6LaUHsALLKGkVQVFoXBfZK';
const settled = (): Promise<void> => new Promise(setImmediate);

describe('the redirect URI', () => {
  it.each(['https://px.test', 'https://px.test/', 'https://px.test//'])('is one of the context for %s (D8)', (url) => {
    const bench = aClientsBench();
    bench.site.url = url;
    expect(bench.clients.redirectUri(oauthServer())).toBe(CALLBACK);
  });

  it('keeps a path prefix of the public URL (B154)', () => {
    const bench = aClientsBench();
    bench.site.url = 'https://px.test/mcp-proxy/';
    expect(bench.clients.redirectUri(oauthServer())).toBe(
      CALLBACK.replace('https://px.test', 'https://px.test/mcp-proxy'),
    );
  });
});

describe('the client of an admin', () => {
  it('wins over a registration that is kept, at once and on each node (B211)', async () => {
    const bench = aClientsBench();
    const other = bench.node();
    await bench.signIn(oauthServer());
    const pinned = oauthServer({ clientId: 'by-admin', clientSecret: 's3cret' });
    for (const node of [bench.clients, other]) {
      const { clientId, authentication } = await bench.signIn(pinned, {}, node);
      expect(clientId).toBe('by-admin');
      expect(authentication.kind === 'secret' && authentication.secret.reveal()).toBe('s3cret');
      expect(await node.known(pinned, AS_PLACE, 'client-1')).toBeUndefined();
      expect(await node.known(pinned, AS_PLACE, 'by-admin')).toMatchObject({ clientId: 'by-admin' });
    }
    expect(bench.as.registrations).toHaveLength(1);
  });

  it('set while a registration is under way is what the next sign-in goes by (B211)', async () => {
    const bench = aClientsBench();
    const answer = deferred();
    bench.as.onRegister = async (nth) => (await answer.promise, aRegistration(nth));
    const registering = bench.signIn(oauthServer());
    await settled();
    const pinned = { ...oauthServer({ clientId: 'by-admin' }), revision: '2' };
    expect((await bench.signIn(pinned)).clientId).toBe('by-admin');
    answer.resolve();
    await registering;
    expect((await bench.signIn(pinned)).clientId).toBe('by-admin');
  });

  it('is never forgotten by a refusal: an admin corrects it (B168)', async () => {
    const bench = aClientsBench();
    const pinned = oauthServer({ clientId: 'by-admin' });
    expect(await bench.clients.forget(pinned, AS_PLACE.issuer, 'by-admin')).toBe(false);
    expect((await bench.signIn(pinned)).clientId).toBe('by-admin');
  });

  it('uses a changed secret at once (B168)', async () => {
    const bench = aClientsBench();
    for (const secret of ['one', 'two']) {
      const pinned = oauthServer({ clientId: 'by-admin', clientSecret: secret });
      const known = await bench.clients.known(pinned, AS_PLACE, 'by-admin');
      expect(known?.authentication.kind === 'secret' && known.authentication.secret.reveal()).toBe(secret);
    }
  });

  it.each([
    [undefined, 'client_secret_basic'],
    [['client_secret_basic', 'client_secret_post'], 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [['private_key_jwt'], 'client_secret_basic'],
  ] as const)('proves itself where the server lists %j by %s (B212)', async (tokenAuthMethods, method) => {
    const bench = aClientsBench();
    const { authentication } = await bench.signIn(oauthServer({ clientId: 'a', clientSecret: 'b' }), {
      tokenAuthMethods,
    });
    expect(authentication).toMatchObject({ kind: 'secret', method });
  });

  it('without a secret is a public one, also where the server lists secrets', async () => {
    const bench = aClientsBench();
    const client = await bench.signIn(oauthServer({ clientId: 'a' }), { tokenAuthMethods: ['client_secret_basic'] });
    expect(client).toEqual({ clientId: 'a', authentication: { kind: 'none' } });
  });
});

describe('our metadata document', () => {
  const takesIt = { takesMetadataDocument: true };

  it('goes before a registration, and our key proves us', async () => {
    const bench = aClientsBench();
    const { clientId, authentication } = await bench.signIn(oauthServer(), takesIt);
    expect(clientId).toBe(`${DOCUMENT}.json`);
    expect(authentication).toMatchObject({ kind: 'key', keyId: bench.serviceKeys.rows[0]?.id });
    expect(bench.as.registrations).toEqual([]);
    expect(await bench.clients.known(oauthServer(), AS_PLACE, clientId)).toMatchObject({ clientId });
  });

  it('is another one, without a key, where the server takes no such proof', async () => {
    const bench = aClientsBench();
    const place = { ...takesIt, tokenAuthMethods: ['none'] };
    const client = await bench.signIn(oauthServer(), place);
    expect(client).toEqual({ clientId: `${DOCUMENT}-public.json`, authentication: { kind: 'none' } });
    // What the document says is what we do, whatever the server lists by the time of a renewal.
    expect(await bench.clients.known(oauthServer(), AS_PLACE, client.clientId)).toEqual(client);
    expect(bench.serviceKeys.rows).toEqual([]);
  });

  it('is of no use while nobody can fetch it: then we register', async () => {
    const bench = aClientsBench();
    bench.site.url = 'http://127.0.0.1:8080';
    expect((await bench.signIn(oauthServer(), takesIt)).clientId).toBe('client-1');
  });

  it('gives way to the client of an admin', async () => {
    const bench = aClientsBench();
    expect((await bench.signIn(oauthServer({ clientId: 'by-admin' }), takesIt)).clientId).toBe('by-admin');
  });

  it('of another server is not us here (T2)', async () => {
    const bench = aClientsBench();
    const { clientId } = await bench.signIn(oauthServer({}, {}, { name: 'other' }), takesIt);
    expect(await bench.clients.known(oauthServer(), AS_PLACE, clientId)).toBeUndefined();
  });
});

describe('a client that is known', () => {
  const known = async (clients: Clients, id: string): Promise<string | undefined> =>
    (await clients.known(oauthServer(), AS_PLACE, id))?.clientId;

  it('is the one that is kept, no other and no earlier one (B207)', async () => {
    const bench = aClientsBench();
    await bench.signIn(oauthServer());
    expect(await known(bench.clients, 'client-1')).toBe('client-1');
    expect(await known(bench.clients, 'client-2')).toBeUndefined();
    expect(await bench.clients.known(oauthServer(), { ...AS_PLACE, issuer: 'https://b.example' }, 'client-1')).toBe(
      undefined,
    );
  });

  it('is forgotten only by its own id, and the next sign-in registers once for all (B207, B211)', async () => {
    const bench = aClientsBench();
    const other = bench.node();
    const forget = (node: Clients, id: string): Promise<boolean> => node.forget(oauthServer(), AS_PLACE.issuer, id);
    await bench.signIn(oauthServer());
    expect(await forget(bench.clients, 'client-0')).toBe(false);
    expect(await known(bench.clients, 'client-1')).toBe('client-1');
    // Thirty refusals of the old id, on two nodes.
    const found = await Promise.all(
      Array.from({ length: 30 }, (_, n) => forget(n % 2 ? bench.clients : other, 'client-1')),
    );
    expect(found).toEqual(Array.from({ length: 30 }, () => true));
    expect(await known(bench.clients, 'client-1'), 'grants of it may still be good').toBe('client-1');
    expect((await bench.signIn(oauthServer())).clientId).toBe('client-2');
    // A late refusal of the old id does not touch the new one.
    expect(await forget(other, 'client-1')).toBe(false);
    expect((await bench.signIn(oauthServer(), {}, other)).clientId).toBe('client-2');
    expect(bench.as.registrations).toHaveLength(2);
  });

  it('without anything sealed is a public one, whatever its method', async () => {
    const store = new InMemoryClients();
    const bench = aClientsBench(() => store);
    const client: StoredClient = {
      clientId: 'c',
      redirectUri: CALLBACK,
      method: 'client_secret_post',
      sealed: undefined,
      secretExpiresAt: undefined,
      isOver: false,
    };
    await store.acquire(NOTES, 'h', 1);
    await store.release(NOTES, 'h', client);
    expect(await bench.clients.known(oauthServer(), AS_PLACE, 'c')).toEqual({
      clientId: 'c',
      authentication: { kind: 'none' },
    });
  });

  it('never is our key where a registration was asked for', async () => {
    const bench = aClientsBench();
    const privateKey = (
      await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
    ).privateKey;
    bench.as.onRegister = async () => ({
      client: { clientId: 'x', authentication: { kind: 'key', keyId: 'k', privateKey } },
      secretExpiresAt: undefined,
    });
    await expect(bench.signIn(oauthServer())).rejects.toMatchObject({ code: 'internal' });
  });
});
