import { describe, expect, it } from 'vitest';
import { readChallenge } from '../../../src/upstream/oauth/challenge.ts';

const SERVER = 'https://u.test/team/mcp';
const PRM = 'https://u.test/.well-known/oauth-protected-resource/team/mcp';
const urlsIn = (header: string): readonly string[] => readChallenge(header, SERVER).metadataUrls;

describe('a challenge', () => {
  it('gives address, scopes and error', () => {
    expect(
      readChallenge(
        `Bearer realm="x", error="insufficient_scope", scope="read  write read", resource_metadata="${PRM}"`,
        SERVER,
      ),
    ).toEqual({ metadataUrls: [PRM], scopes: ['read', 'write'], error: 'insufficient_scope' });
  });

  it('says nothing when it is bare, missing or empty (B136)', () => {
    const nothing = { metadataUrls: [], scopes: [], error: undefined };
    for (const header of [undefined, '', 'Bearer', 'Negotiate dGVzdA==', ',,, ', '"""', '=', '\\'])
      expect(readChallenge(header, SERVER)).toEqual(nothing);
  });

  it('may carry the address twice, in one line or two: both count, in order (B142)', () => {
    const both = ['https://u.test/a', 'https://u.test/b'];
    expect(urlsIn('Bearer resource_metadata="https://u.test/a", resource_metadata="https://u.test/b"')).toEqual(both);
    expect(urlsIn('Bearer resource_metadata="https://u.test/a", Bearer resource_metadata="https://u.test/b"')).toEqual(
      both,
    );
    expect(urlsIn('Bearer resource_metadata="https://u.test/a", resource_metadata="https://u.test/a"')).toEqual([
      'https://u.test/a',
    ]);
  });

  it.each([
    ['blanks around the equal sign', `Bearer resource_metadata = "${PRM}"`],
    ['tabs around it', `Bearer\tresource_metadata\t=\t"${PRM}"`],
    ['no quotes', `Bearer resource_metadata=${PRM}, scope=read`],
    ['no quotes and blanks', `Bearer resource_metadata = ${PRM}`],
    ['upper case', `BEARER RESOURCE_METADATA="${PRM}"`],
    ['no commas', `Bearer realm="a" resource_metadata="${PRM}" scope="read"`],
    ['an escaped character', `Bearer realm="a \\" , resource_metadata=\\"x", resource_metadata="${PRM}"`],
    ['a quote that never closes', `Bearer resource_metadata="${PRM}`],
    ['another challenge before', `Basic realm="site", charset="UTF-8", Bearer resource_metadata="${PRM}"`],
    ['a token68 before', `Negotiate YWJj==, Bearer resource_metadata="${PRM}"`],
    ['another challenge after', `Bearer resource_metadata="${PRM}", DPoP algs="ES256"`],
    ['no scheme at all', `resource_metadata="${PRM}"`],
    ['a relative address', 'Bearer resource_metadata="/.well-known/oauth-protected-resource/team/mcp"'],
  ])('is read with %s (B144)', (_what, header) => {
    expect(urlsIn(header)).toEqual([PRM]);
  });

  it.each([
    ['single quotes, which do not quote', `Bearer resource_metadata='${PRM}'`],
    ['javascript:', 'Bearer resource_metadata="javascript:alert(1)"'],
    ['file:', 'Bearer resource_metadata="file:///etc/passwd"'],
    ['ftp:', 'Bearer resource_metadata="ftp://u.test/x"'],
    ['data:', 'Bearer resource_metadata="data:application/json,{}"'],
    ['no host', 'Bearer resource_metadata="https://"'],
    ['nothing', 'Bearer resource_metadata=""'],
    ['a path of 100 kB', `Bearer resource_metadata="https://u.test/${'a'.repeat(100_000)}"`],
  ])('names no address with %s (B144, B240)', (_what, header) => {
    expect(urlsIn(header)).toEqual([]);
  });

  it('takes only what can be a scope', () => {
    expect(readChallenge('Bearer scope="ok:1 naïve wi\\\\th \u0007 fine"', SERVER).scopes).toEqual(['ok:1', 'fine']);
    const many = Array.from({ length: 500 }, (_, index) => `s${String(index)}`).join(' ');
    expect(readChallenge(`Bearer scope="${many}"`, SERVER).scopes).toHaveLength(100);
  });

  it('of any length is read in one pass (B144)', () => {
    const time = (header: string): number => {
      const start = performance.now();
      readChallenge(header, SERVER);
      return performance.now() - start;
    };
    const hard = ['"', '\\"', '=', ' ', 'a ', 'a=', 'a="', 'a="\\', '\\', ',', 'a=" ', "'", '\t='];
    for (const piece of hard) {
      // Quadratic work on a million characters would take minutes, not a second.
      expect(time(`Bearer ${piece.repeat(1_000_000 / piece.length)}`), piece).toBeLessThan(2_000);
      expect(time(`Bearer resource_metadata="${piece.repeat(10_000 / piece.length)}"`), piece).toBeLessThan(100);
    }
  });
});
