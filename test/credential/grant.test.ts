import { describe, expect, it } from 'vitest';
import type { CredentialKind } from '../../src/credential/credential-store.ts';
import {
  detailsOf,
  type Grant,
  grantWith,
  isExpired,
  readGrant,
  renewalDueAt,
  writeGrant,
} from '../../src/credential/grant.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { credentialContext } from '../../src/credential/seal-context.ts';
import { Secret } from '../../src/shared/secret.ts';
import { aTokenSet } from './fake-authorization-servers.ts';
import { aGrant, ofAnna, PLACE, server } from './grants-bench.ts';
import { aVault, InMemoryCredentials } from './in-memory.ts';

const NOW = 1_700_000_000_000;
const base = {
  refreshToken: new Secret('r0'),
  scopes: ['read'],
  place: PLACE,
  clientId: 'us',
  signInId: 's',
  signedInAt: NOW,
};

describe('a grant', () => {
  it.each([
    ['an hour', 3_600, 3_540_000],
    ['five minutes', 300, 240_000],
    ['a minute', 60, 48_000],
    ['five seconds', 5, 4_000],
    ['no time', 0, 0],
  ])('that lasts %s is due a minute before its end, or after four fifths', (_, lifeS, dueMs) => {
    const grant = grantWith(base, aTokenSet('a', { expiresInS: lifeS }), NOW);
    expect(renewalDueAt(grant) - NOW).toBe(dueMs);
    expect(isExpired(grant, NOW + lifeS * 1_000 - 1)).toBe(false);
    expect(isExpired(grant, NOW + lifeS * 1_000)).toBe(true);
  });

  it('of unknown lifetime is never due and never over', () => {
    const grant = grantWith(base, aTokenSet('a', { expiresInS: undefined }), NOW);
    expect([renewalDueAt(grant), isExpired(grant, Number.MAX_SAFE_INTEGER)]).toEqual([Infinity, false]);
  });

  it('keeps its refresh token unless another one comes (RFC 6749 §6)', () => {
    expect(grantWith(base, aTokenSet('a'), NOW).refreshToken?.reveal()).toBe('r0');
    expect(grantWith(base, aTokenSet('a', { refreshToken: new Secret('r1') }), NOW).refreshToken?.reveal()).toBe('r1');
  });

  it('comes out of its text as it went in', () => {
    for (const grant of [aGrant(NOW, { lifeMs: 1_000 }), aGrant(NOW, {}), aGrant(NOW, { refreshToken: '' })]) {
      const read = readGrant(writeGrant(grant));
      expect(plain(read)).toEqual(plain(grant));
      expect(read.accessToken).toBeInstanceOf(Secret);
    }
  });

  it.each([
    'null',
    '[]',
    '"x"',
    '{}',
    '{"accessToken":1,"place":{}}',
    '{"accessToken":"a"}',
    '{"accessToken":"a","place":1}',
  ])('is not made of %s', (text) => {
    expect(() => readGrant(text)).toThrow('A stored grant cannot be read.');
  });

  it('shows issuer, scopes, end and whether it can be renewed, and nothing that proves anything', () => {
    const shown = detailsOf(aGrant(NOW, { lifeMs: 1_000 }));
    expect(shown).toEqual({
      signedInAt: new Date(NOW).toISOString(),
      issuer: 'https://as.example',
      scopes: ['read'],
      expiresAt: new Date(NOW + 1_000).toISOString(),
      renewable: true,
    });
    expect(detailsOf(aGrant(NOW, { refreshToken: '' }))).toMatchObject({ expiresAt: null, renewable: false });
  });
});

describe('the grant keeper', () => {
  function aKeeper() {
    const credentials = new InMemoryCredentials();
    const vault = aVault();
    return { credentials, vault, keeper: createGrantKeeper({ vault, credentials }) };
  }

  it('seals a grant to its kind, server, owner and binding (T11, T22)', async () => {
    const { credentials, vault, keeper } = aKeeper();
    await keeper.keep(server, ofAnna, 'b1', aGrant(NOW, {}), NOW);
    const [row] = credentials.rows;
    if (row === undefined) throw new Error('there is a row');
    expect(row).toMatchObject({ kind: 'grant', owner: 'p:anna', binding: 'b1', details: { issuer: PLACE.issuer } });
    expect(JSON.stringify({ ...row, sealed: row.sealed.toString('latin1') })).not.toMatch(/access-0|refresh-0/);
    const open = (kind: CredentialKind, owner: string, binding: string) =>
      vault.open(server.tenantId, credentialContext(kind, server.id, owner, binding), row.sealed);
    expect((await open('grant', 'p:anna', 'b1')).reveal()).toContain('access-0');
    for (const [kind, owner, binding] of [
      ['secret', 'p:anna', 'b1'],
      ['grant', 'p:bert', 'b1'],
      ['grant', 'p:anna', 'b2'],
    ] as const)
      await expect(open(kind, owner, binding)).rejects.toMatchObject({ code: 'internal' });
  });

  it('replaces whatever is there by a new sign-in, but by a renewal only what was renewed (B184)', async () => {
    const { credentials, keeper } = aKeeper();
    const first = await keeper.keep(server, ofAnna, 'b1', aGrant(NOW, {}), NOW);
    const second = await keeper.keep(server, ofAnna, 'b1', aGrant(NOW, {}), NOW);
    expect(await keeper.renew(server, ofAnna, 'b1', aGrant(NOW, {}), first.version, NOW)).toBeUndefined();
    expect(credentials.rows[0]?.version).toBe(second.version);
    const third = await keeper.renew(server, ofAnna, 'b1', aGrant(NOW, {}), second.version, NOW);
    expect(credentials.rows.map(({ version }) => version)).toEqual([third?.version]);
  });

  it('makes a first version only where there is none', async () => {
    const { keeper } = aKeeper();
    const first = await keeper.renew(server, ofAnna, 'b1', aGrant(NOW, {}), undefined, NOW);
    expect(first).toBeDefined();
    expect(await keeper.renew(server, ofAnna, 'b1', aGrant(NOW, {}), undefined, NOW)).toBeUndefined();
  });
});

const plain = ({ accessToken, refreshToken, ...rest }: Grant): unknown => ({
  ...rest,
  accessToken: accessToken.reveal(),
  refreshToken: refreshToken?.reveal(),
});
