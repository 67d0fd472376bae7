import { describe, expect, it } from 'vitest';
import { OAuthRefusal } from '../../src/credential/authorization-server.ts';
import type { Owner } from '../../src/credential/credential.ts';
import { createObtainTokens, createRequireSubject, isOfOurOwn, scopesOf } from '../../src/credential/obtain-tokens.ts';
import type { PrincipalId } from '../../src/shared/id.ts';
import { Secret } from '../../src/shared/secret.ts';
import { aClientsBench, NEVER } from './clients-bench.ts';
import { AS_PLACE, aTokenSet } from './fake-authorization-servers.ts';
import { aGrant } from './grants-bench.ts';
import { aPrincipal, aServer } from './in-memory.ts';

const [anna, bert] = [aPrincipal('anna'), aPrincipal('bert')];
const ofTenant: Owner = { kind: 'tenant' };
const of = (principalId: PrincipalId): Owner => ({ kind: 'principal', principalId });

const serverOf = (kind: string, oauth: Readonly<Record<string, unknown>> = {}) =>
  aServer({ credential: { kind, oauth: { clientId: 'us', clientSecret: 's', ...oauth } } });

function aBench() {
  const bench = aClientsBench();
  const subjects = new Map<PrincipalId, string>();
  const obtain = createObtainTokens({
    authorizationServersOf: () => bench.as,
    clients: bench.clients,
    requireSubject: createRequireSubject((tenantId, principalId) => {
      const token = tenantId === 'acme' ? subjects.get(principalId) : undefined;
      return token === undefined ? undefined : new Secret(token);
    }),
    now: () => bench.clock.now(),
  });
  return { ...bench, subjects, obtain };
}

describe('tokens for ourselves', () => {
  it('are asked for as the client, at the place that was found', async () => {
    const bench = aBench();
    const grant = await bench.obtain(serverOf('client_credentials'), ofTenant, undefined, NEVER);
    expect(bench.as.asked).toEqual([{ grant: 'client_credentials', clientId: 'us', scopes: ['read'] }]);
    expect(grant).toMatchObject({ clientId: 'us', scopes: ['read'], expiresAt: bench.clock.now() + 3_600_000 });
    expect(grant?.accessToken.reveal()).toBe('own-1');
    const { issuer, tokenEndpoint, revocationEndpoint, resource, tokenAuthMethods } = AS_PLACE;
    expect(grant?.place).toEqual({ issuer, tokenEndpoint, revocationEndpoint, resource, tokenAuthMethods });
  });

  it('are asked for with the scopes of the definition where it names some', async () => {
    const bench = aBench();
    const grant = await bench.obtain(
      serverOf('client_credentials', { scopes: ['a', 'b'] }),
      ofTenant,
      undefined,
      NEVER,
    );
    expect(bench.as.asked[0]?.scopes).toEqual(['a', 'b']);
    expect(grant?.scopes).toEqual(['a', 'b']);
  });

  it('never keep a refresh token: they are asked for again (RFC 6749 §4.4.3)', async () => {
    const bench = aBench();
    bench.as.onAsked = async () => aTokenSet('a', { refreshToken: new Secret('r') });
    const first = await bench.obtain(serverOf('client_credentials'), ofTenant, undefined, NEVER);
    expect(first?.refreshToken).toBeUndefined();
    await bench.obtain(serverOf('client_credentials'), ofTenant, aGrant(0, { refreshToken: 'old' }), NEVER);
    expect(bench.as.asked.map(({ grant }) => grant)).toEqual(['client_credentials', 'client_credentials']);
  });

  it('are looked for anew each time, so that a server that moved its sign-in is followed', async () => {
    const bench = aBench();
    await bench.obtain(serverOf('client_credentials'), ofTenant, undefined, NEVER);
    bench.as.place = { ...AS_PLACE, issuer: 'https://as2.example', tokenEndpoint: 'https://as2.example/token' };
    const grant = await bench.obtain(serverOf('client_credentials'), ofTenant, undefined, NEVER);
    expect(grant?.place.tokenEndpoint).toBe('https://as2.example/token');
    expect(bench.as.discovered).toHaveLength(2);
  });

  it('that are refused are refused: the error is for the caller to judge', async () => {
    const bench = aBench();
    bench.as.onAsked = () => Promise.reject(new OAuthRefusal('invalid_client'));
    await expect(bench.obtain(serverOf('client_credentials'), ofTenant, undefined, NEVER)).rejects.toMatchObject({
      code: 'invalid_client',
    });
  });
});

describe('an exchanged token', () => {
  it('is made of the token of this very caller, and of nobody else (T18)', async () => {
    const bench = aBench();
    bench.subjects.set(anna, 'jwt-of-anna').set(bert, 'jwt-of-bert');
    for (const who of [bert, anna]) await bench.obtain(serverOf('token_exchange'), of(who), undefined, NEVER);
    expect(bench.as.asked).toEqual([
      { grant: 'token_exchange', clientId: 'us', scopes: ['read'], subject: 'jwt-of-bert' },
      { grant: 'token_exchange', clientId: 'us', scopes: ['read'], subject: 'jwt-of-anna' },
    ]);
  });

  it('keeps nothing of the token it was made of (T6)', async () => {
    const bench = aBench();
    bench.subjects.set(anna, 'jwt-of-anna');
    const grant = await bench.obtain(serverOf('token_exchange'), of(anna), undefined, NEVER);
    expect(grant?.accessToken.reveal()).toBe('own-1');
    expect(grant?.refreshToken).toBeUndefined();
  });

  it.each([['a caller without a signed token', of(bert)] as const, ['no caller at all', ofTenant] as const])(
    'is not made for %s, and never as ourselves instead',
    async (_, owner) => {
      const bench = aBench();
      bench.subjects.set(anna, 'jwt-of-anna');
      await expect(bench.obtain(serverOf('token_exchange'), owner, undefined, NEVER)).rejects.toMatchObject({
        code: 'upstream_unavailable',
        message: expect.stringContaining('signed token'),
      });
      expect(bench.as.asked).toEqual([]);
    },
  );
});

describe('the kind of a credential', () => {
  it.each([
    ['oauth', false],
    ['secret', false],
    ['client_credentials', true],
    ['token_exchange', true],
  ])('%s: asked for without a person is %s', (kind, is) => {
    expect(isOfOurOwn(kind === 'secret' ? aServer() : serverOf(kind))).toBe(is);
  });

  it('decides nothing where there is no credential', () => {
    expect(isOfOurOwn({ ...aServer(), credential: undefined })).toBe(false);
    expect(scopesOf({ ...aServer(), credential: undefined })).toBeUndefined();
  });

  it('names scopes, or none, or says nothing of them', () => {
    expect(scopesOf(serverOf('oauth', { scopes: ['a'] }))).toEqual(['a']);
    expect(scopesOf(serverOf('oauth', { scopes: [] }))).toEqual([]);
    expect(scopesOf(serverOf('oauth'))).toBeUndefined();
  });
});
