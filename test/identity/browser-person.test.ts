import { describe, expect, it } from 'vitest';
import { principalsAt, proofOf } from '../../src/identity/browser-person.ts';

const ISSUER = 'https://idp.example';

describe('a person of an identity provider', () => {
  it('is the principal of signed tokens, and plain for agents with keys', () => {
    expect(principalsAt(ISSUER, 'ada')).toEqual(['https://idp.example#ada', 'ada']);
  });

  it.each(['https://other.example#ada', 'http://x', 'HTTPS://x', 'httpada', 'a#b', '#'])(
    'T1: %s could be read as somebody of another issuer, and is never taken plain',
    (value) => {
      expect(principalsAt(ISSUER, value)).toEqual([`https://idp.example#${value}`]);
    },
  );

  it.each(['', ' ', ' ada', 'ada ', 'a\nb', 'a\u0000b', 'x'.repeat(513)])('B223: %j is nobody', (value) => {
    expect(principalsAt(ISSUER, value)).toEqual([]);
  });

  it('keeps the plain name where the long one is too long', () => {
    const value = 'x'.repeat(500);
    expect(principalsAt(ISSUER, value)).toEqual([value]);
  });
});

describe('the way a tenant has its people proved', () => {
  it('differs with all that decides who somebody is, and with nothing else', () => {
    const oidc = { mode: 'oidc', issuer: ISSUER, clientId: 'a', clientSecret: 's' } as const;
    const handoff = { mode: 'handoff', verifyUrl: 'https://saas.example', key: 'k' } as const;
    const ways = [
      { mode: 'link' } as const,
      oidc,
      { ...oidc, issuer: 'https://idp.example/' },
      { ...oidc, clientId: 'b' },
      { ...oidc, principalClaim: 'email' },
      handoff,
      { ...handoff, verifyUrl: 'https://other.example' },
    ];
    expect(new Set(ways.map(proofOf)).size).toBe(ways.length);
    expect(proofOf({ ...oidc, clientSecret: 'new', principalClaim: 'sub' })).toBe(proofOf(oidc));
    expect(proofOf({ ...handoff, key: 'new' })).toBe(proofOf(handoff));
  });
});
