import { describe, expect, it } from 'vitest';
import { readGrant } from '../../src/credential/grant.ts';
import { credentialContext } from '../../src/credential/seal-context.ts';
import { NEVER, oauthServer } from './clients-bench.ts';
import { FlowBench, inMemoryStores } from './consent-flow-bench.ts';
import { AS_PLACE, aTokenSet } from './fake-authorization-servers.ts';
import { aPrincipal } from './in-memory.ts';

function aBench(server = oauthServer()) {
  const stores = inMemoryStores();
  const bench = new FlowBench(server, () => stores);
  const key = { tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' };
  const scopesKept = async (): Promise<readonly string[]> => {
    const row = stores.credentials.rows.find(({ owner }) => owner === 'p:anna');
    if (row === undefined) throw new Error('there is a grant');
    const context = credentialContext('grant', row.serverId, row.owner, row.binding);
    return readGrant((await bench.vault.open(row.tenantId, context, row.sealed)).reveal()).scopes;
  };
  return { bench, stores, key, scopesKept, asked: () => bench.as.sent.at(-1)?.scopes };
}

describe('the scopes that a sign-in asks for', () => {
  it.each([
    [undefined, ['a', 'b'], ['a', 'b']],
    [['own'], ['a', 'b'], ['own']],
    [[], ['a', 'b'], []],
    [undefined, [], []],
  ])('are those of the definition (%j), or those of the place (%j)', async (scopes, ofPlace, expected) => {
    const { bench, asked } = aBench(oauthServer(scopes === undefined ? {} : { scopes }));
    bench.as.place = { ...AS_PLACE, scopes: ofPlace };
    await bench.begin();
    expect(asked()).toEqual(expected);
  });

  it('are the union of all that is known: definition, last grant, this refusal, earlier ones (B171)', async () => {
    const { bench, stores, key, asked } = aBench(oauthServer({ scopes: ['read'] }));
    await bench.signIn({ scopes: ['write'] });
    await stores.scopes.add(key, 'search', ['search', 'read']);
    await bench.begin({ scopes: ['admin', 'write'] });
    expect(asked()).toEqual(['read', 'write', 'admin', 'search']);
    const { scopes } = await bench.flows.preview(bench.ticket({ scopes: ['admin'] }), bench.server, NEVER);
    expect(new Set(scopes)).toEqual(new Set(['read', 'write', 'admin', 'search']));
  });

  it('lead to one sign-in for two tools that lack one each, and to no other (B171)', async () => {
    const { bench, stores, key, asked } = aBench(oauthServer({ scopes: ['read'] }));
    await bench.signIn();
    await stores.scopes.add(key, 'w', ['write']);
    await bench.signIn({ scopes: ['write'] });
    expect(asked()).toEqual(['read', 'write']);
    await bench.signIn();
    expect(asked()).toEqual(['read', 'write']);
  });

  it('stay those that were asked for when the server grants less, so that nobody is asked in circles', async () => {
    const { bench, scopesKept } = aBench(oauthServer({ scopes: ['read', 'write'] }));
    bench.as.onExchange = async () => aTokenSet('a', { scopes: ['read', 'extra'] });
    await bench.signIn();
    expect(await scopesKept()).toEqual(['read', 'write', 'extra']);
  });

  it.each([
    ['was given to somebody else', { owner: 'p:bert' }],
    ['is bound to another place', { binding: 'other' }],
    ['is a pasted key', { kind: 'secret' as const }],
  ])('take nothing from a credential that %s', async (_, change) => {
    const { bench, stores, asked } = aBench();
    await bench.signIn({ scopes: ['before'] });
    const row = stores.credentials.rows[0];
    if (row === undefined) throw new Error('there is a grant');
    const { owner, binding, kind } = { ...row, ...change };
    const context = credentialContext(row.kind, row.serverId, row.owner, row.binding);
    const text = (await bench.vault.open(row.tenantId, context, row.sealed)).reveal();
    const sealed = await bench.vault.seal(row.tenantId, credentialContext(kind, row.serverId, owner, binding), text);
    stores.credentials.rows = [{ ...row, owner, binding, kind, sealed }];
    await bench.begin();
    expect(asked()).toEqual(['read']);
  });

  it('take nothing from a grant of another issuer (B166)', async () => {
    const { bench, asked } = aBench();
    await bench.signIn({ scopes: ['before'] });
    bench.as.place = { ...AS_PLACE, issuer: 'https://as2.example' };
    await bench.begin();
    expect(asked()).toEqual(['read']);
  });

  it('take nothing from a grant that was disconnected (B216)', async () => {
    const { bench, stores, asked } = aBench();
    await bench.signIn({ scopes: ['before'] });
    await stores.credentials.remove(bench.server.tenantId, bench.server.id, 'p:anna');
    await bench.begin();
    expect(asked()).toEqual(['read']);
  });

  it('take nothing from what other people or other servers lack', async () => {
    const { bench, stores, key, asked } = aBench();
    await stores.scopes.add({ ...key, owner: 'p:bert' }, 't', ['berts']);
    await stores.scopes.add({ ...key, serverId: 'id-of-other' as typeof key.serverId }, 't', ['others']);
    await bench.begin({ principalId: aPrincipal('anna') });
    expect(asked()).toEqual(['read']);
  });

  it('are a hundred and 8 KiB at most, those of the definition and of before first, whatever a server says', async () => {
    const { bench, stores, key, asked } = aBench(oauthServer({ scopes: ['own'] }));
    bench.as.place = { ...AS_PLACE, offersOfflineAccess: true };
    await bench.signIn({ scopes: ['before'] });
    await stores.scopes.add(
      key,
      't',
      Array.from({ length: 300 }, (_, n) => `n${n}`),
    );
    await bench.begin({ scopes: ['now'] });
    expect(asked()).toHaveLength(101);
    expect(asked()?.slice(0, 3)).toEqual(['own', 'before', 'now']);
    expect(asked()?.at(-1)).toBe('offline_access');
    await stores.scopes.forget(key.tenantId, key.serverId);
    await stores.scopes.add(key, 't', ['x'.repeat(9_000), ...Array.from({ length: 20 }, (_, n) => `${n}`.repeat(700))]);
    await bench.begin();
    const bytes = Buffer.byteLength(asked()?.join(' ') ?? '');
    expect([bytes > 7_000, bytes <= 8 * 1024 + ' offline_access'.length]).toEqual([true, true]);
    expect(asked()?.slice(0, 2)).toEqual(['own', 'before']);
  });

  it('have offline_access exactly where it is offered (B175, B176)', async () => {
    const { bench, asked } = aBench();
    await bench.begin();
    expect(asked()).toEqual(['read']);
    bench.as.place = { ...AS_PLACE, offersOfflineAccess: true };
    await bench.signIn();
    expect(asked()).toEqual(['read', 'offline_access']);
    // Asked for before, but not known there any more: it would be refused as a whole (B176).
    bench.as.place = AS_PLACE;
    await bench.begin();
    expect(asked()).toEqual(['read']);
  });
});
