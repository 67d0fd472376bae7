import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, anIssuer, createSigner, ISSUER, type Signer, sign, tenant, World } from './support.ts';

const URI = 'https://idp.test/keys';
let signer: Signer;
let stranger: Signer;

beforeAll(async () => {
  [signer, stranger] = await Promise.all([createSigner('k1'), createSigner('k1')]);
});

function aWorld(over: Parameters<typeof anIssuer>[1] = {}): World {
  const world = new World();
  world.issuers.push(anIssuer(tenant('a'), over));
  world.documents.set(URI, { keys: [signer.jwk] });
  return world;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

async function hmac(world: World, secret: string): Promise<string> {
  const { SignJWT } = await import('jose');
  return new SignJWT(world.claims()).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(Buffer.from(secret));
}

type Token = (world: World) => Promise<string> | string;

const GOOD: Record<string, Token> = {
  'of the plain form': (world) => sign(signer, world.claims()),
  'of type at+jwt': (world) => sign(signer, world.claims(), { typ: 'at+jwt' }),
  'of type application/at+jwt': (world) => sign(signer, world.claims(), { typ: 'application/AT+JWT' }),
  'of type JWT': (world) => sign(signer, world.claims(), { typ: 'JWT' }),
  'with a list of audiences': (world) => sign(signer, world.claims({ aud: ['https://other.test', AUDIENCE] })),
  'with a slash after the audience': (world) => sign(signer, world.claims({ aud: `${AUDIENCE}/` })),
  'made for our endpoint': (world) => sign(signer, world.claims({ aud: `${AUDIENCE}/mcp` })),
  'that ended within the tolerance': (world) => sign(signer, world.claims({ exp: world.now - 29 })),
  'that begins within the tolerance': (world) => sign(signer, world.claims({ nbf: world.now + 30 })),
  'without a key id while one key fits': (world) => sign({ ...signer, jwk: {} }, world.claims()),
};

const BAD: Record<string, Token> = {
  'with alg none': (world) => `${encode({ alg: 'none' })}.${encode(world.claims())}.`,
  'with alg none and some signature': (world) => `${encode({ alg: 'none' })}.${encode(world.claims())}.AAAA`,
  'signed by HS256 with the public key as secret': (world) => hmac(world, JSON.stringify(signer.jwk)),
  'signed by HS256 with the coordinate as secret': (world) => hmac(world, String(signer.jwk.x)),
  'signed by another key of the same id': (world) => sign(stranger, world.claims()),
  'that brings its own key along': (world) => sign(stranger, world.claims(), { jwk: stranger.jwk }),
  'that names its own key address': (world) => sign(stranger, world.claims(), { jku: 'https://evil.test/keys' }),
  'of an unknown key id': (world) => sign(signer, world.claims(), { kid: 'k2' }),
  'that has expired': (world) => sign(signer, world.claims({ exp: world.now - 30 })),
  'without exp': (world) => sign(signer, world.claims({ exp: undefined })),
  'with exp as text': (world) => sign(signer, world.claims({ exp: String(world.now + 100) })),
  'with exp in milliseconds': (world) => sign(signer, world.claims({ exp: (world.now + 100) * 1000 })),
  'without iat': (world) => sign(signer, world.claims({ iat: undefined })),
  'with iat in the future': (world) => sign(signer, world.claims({ iat: world.now + 31 })),
  'older than a day': (world) => sign(signer, world.claims({ iat: world.now - 86_400 - 31, exp: world.now + 100 })),
  'not yet valid': (world) => sign(signer, world.claims({ nbf: world.now + 31 })),
  'with nbf as text': (world) => sign(signer, world.claims({ nbf: 'now' })),
  'without audience': (world) => sign(signer, world.claims({ aud: undefined })),
  'for another service': (world) => sign(signer, world.claims({ aud: 'https://other.test' })),
  'for another service on our host': (world) => sign(signer, world.claims({ aud: `${AUDIENCE}/billing` })),
  'for another tenant’s endpoint': (world) => sign(signer, world.claims({ aud: `${AUDIENCE}/t/b/mcp` })),
  'for an empty list of audiences': (world) => sign(signer, world.claims({ aud: [] })),
  'whose audience only begins like ours': (world) => sign(signer, world.claims({ aud: `${AUDIENCE}.evil.test` })),
  'of an unregistered issuer': (world) => sign(signer, world.claims({ iss: 'https://evil.test' })),
  'whose issuer has a slash more': (world) => sign(signer, world.claims({ iss: `${ISSUER}/` })),
  'without issuer': (world) => sign(signer, world.claims({ iss: undefined })),
  'with a list of issuers': (world) => sign(signer, world.claims({ iss: [ISSUER] })),
  'with a numeric sub': (world) => sign(signer, world.claims({ sub: 42 })),
  'with an empty sub': (world) => sign(signer, world.claims({ sub: '' })),
  'without sub': (world) => sign(signer, world.claims({ sub: undefined })),
  'with a sub of 256 characters': (world) => sign(signer, world.claims({ sub: 'x'.repeat(256) })),
  'with a control character in sub': (world) => sign(signer, world.claims({ sub: 'ann\u0000' })),
  'with half a character in sub': (world) => sign(signer, world.claims({ sub: 'ann\ud800' })),
  'with an unknown crit': (world) =>
    `${encode({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 })}.${encode(world.claims())}.${'A'.repeat(86)}`,
  'of another type': (world) => sign(signer, world.claims(), { typ: 'logout+jwt' }),
  'of a type that is no text': async (world) => sign(signer, world.claims(), JSON.parse('{"typ": 1}')),
  'whose payload is a list': () => `${encode({ alg: 'ES256' })}.${encode([])}.AAAA`,
  'whose payload is no JSON': () => `${encode({ alg: 'ES256' })}.AAAA.AAAA`,
  'of five parts': async (world) => `${await sign(signer, world.claims())}.AAAA.AAAA`,
  'of two parts': async (world) => (await sign(signer, world.claims())).split('.').slice(0, 2).join('.'),
};

describe('T13: a signed token', () => {
  it.each(Object.entries(GOOD))('%s is taken', async (_, make) => {
    const world = aWorld();
    expect(await world.outcome(await make(world))).toMatchObject({ tenantId: 'a', principalId: `${ISSUER}#ann` });
  });

  it.each(Object.entries(BAD))('%s is refused', async (_, make) => {
    const world = aWorld();
    expect(await world.outcome(await make(world))).toBe('unauthenticated');
  });

  it('with a truly signed unknown crit is refused', async () => {
    const world = aWorld();
    const { CompactSign } = await import('jose');
    const token = await new CompactSign(Buffer.from(JSON.stringify(world.claims())))
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 })
      .sign(signer.privateKey, { crit: { x: true } });
    expect(await world.outcome(token)).toBe('unauthenticated');
  });

  it('is refused when any one of its bytes is flipped', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims());
    const flip = fc.asyncProperty(fc.nat(token.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const changed = token.slice(0, at) + String.fromCharCode(token.charCodeAt(at) ^ mask) + token.slice(at + 1);
      expect(await world.outcome(changed)).toBe('unauthenticated');
    });
    await fc.assert(flip, {
      numRuns: 600,
      examples: Array.from({ length: 256 - 1 }, (_, i) => [token.length - 1, i + 1] as [number, number]),
    });
    expect(await world.outcome(token)).toMatchObject({ tenantId: 'a' });
  });

  it('is refused at its own end also when remembered', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims({ exp: world.now + 60 }));
    await world.ask(token);
    world.clock.advance(89_999);
    expect(world.ask(token)).toMatchObject({ tenantId: 'a' });
    world.clock.advance(1);
    expect(await world.outcome(token)).toBe('unauthenticated');
  });

  it('of a day is refused after a day whatever its exp says', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims({ exp: world.now + 10 * 86_400 }));
    await world.ask(token);
    world.clock.advance((86_400 + 31) * 1000);
    expect(await world.outcome(token)).toBe('unauthenticated');
  });

  it('B228: does not listen to the principal header', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims());
    expect(await world.outcome(token, { principalHeader: 'bob' })).toMatchObject({ principalId: `${ISSUER}#ann` });
  });

  it('B147: is taken for our address with or without slash, in a list, and for no neighbour', async () => {
    for (const audience of ['https://px.test', 'https://px.test/', 'https://px.test/mcp']) {
      const world = aWorld({ audience });
      for (const aud of [
        'https://px.test',
        'https://px.test/',
        ['x', 'https://px.test/'],
        'https://px.test/mcp',
        'https://px.test/mcp/linear',
        'https://px.test/t/a/mcp',
      ]) {
        expect(await world.outcome(await sign(signer, world.claims({ aud }))), `${aud} of ${audience}`).toMatchObject({
          tenantId: 'a',
        });
      }
      for (const aud of [
        'https://px.test/other',
        'https://px.test/mcp/../other',
        'https://px.test//',
        'https://px.test/t/b/mcp',
        'http://px.test',
        'https://px.test/mcpx',
      ]) {
        expect(await world.outcome(await sign(signer, world.claims({ aud }))), `${aud} of ${audience}`).toBe(
          'unauthenticated',
        );
      }
    }
  });

  it('is taken only for the audience of the tenant when that is not our address', async () => {
    const world = aWorld({ audience: 'api://kb' });
    expect(await world.outcome(await sign(signer, world.claims({ aud: 'api://kb' })))).toMatchObject({ tenantId: 'a' });
    expect(await world.outcome(await sign(signer, world.claims()))).toBe('unauthenticated');
    const empty = aWorld({ audience: '' });
    expect(await empty.outcome(await sign(signer, empty.claims({ aud: '' })))).toBe('unauthenticated');
  });

  it('reads scopes and client from the claims', async () => {
    const world = aWorld();
    const of = async (over: Record<string, unknown>): Promise<unknown> =>
      world.outcome(await sign(signer, world.claims(over)));
    expect(await of({ scope: 'b a  a', client_id: 'cli' })).toMatchObject({
      scopes: new Set(['a', 'b']),
      agentId: 'cli',
    });
    expect(await of({ scp: ['x', 1], azp: 'app' })).toMatchObject({ scopes: new Set(['x']), agentId: 'app' });
    expect(await of({})).toMatchObject({ scopes: new Set(), agentId: ISSUER });
  });

  it('takes the principal from the claim the tenant configured', async () => {
    const world = aWorld({ principalClaim: 'uid' });
    expect(await world.outcome(await sign(signer, world.claims({ uid: 'u1' })))).toMatchObject({
      principalId: `${ISSUER}#u1`,
    });
    expect(await world.outcome(await sign(signer, world.claims()))).toBe('unauthenticated');
    const inherited = aWorld({ principalClaim: 'constructor' });
    expect(await inherited.outcome(await sign(signer, inherited.claims()))).toBe('unauthenticated');
  });

  it('is never taken under an issuer whose name could move the border to the subject', async () => {
    const world = aWorld({ issuer: `${ISSUER}#x` });
    expect(await world.outcome(await sign(signer, world.claims({ iss: `${ISSUER}#x` })))).toBe('unauthenticated');
  });

  it('is checked by the algorithms the tenant allows, and never by a symmetric one', async () => {
    const rsa = await createSigner('r1', 'RS256');
    const outcomes = async (algorithms: readonly string[]): Promise<readonly unknown[]> => {
      const world = aWorld({ algorithms });
      world.documents.set(URI, {
        keys: [signer.jwk, rsa.jwk, { kty: 'oct', k: Buffer.from('s3cret').toString('base64url'), kid: 'k1' }],
      });
      const tokens = [await sign(signer, world.claims()), await sign(rsa, world.claims()), await hmac(world, 's3cret')];
      return Promise.all(tokens.map(async (token) => typeof (await world.outcome(token)) === 'object'));
    };
    expect(await outcomes([])).toEqual([true, true, false]);
    expect(await outcomes(['RS256'])).toEqual([false, true, false]);
    expect(await outcomes(['HS256', 'ES256'])).toEqual([true, false, false]);
    expect(await outcomes(['HS256', 'none'])).toEqual([false, false, false]);
  });
});
