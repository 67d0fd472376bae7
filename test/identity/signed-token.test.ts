import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { anIssuer, createSigner, ISSUER, type Signer, sign, tenant, World } from './support.ts';
import { BAD, es256k, GOOD, hmac, makeSigners } from './token-table.ts';

const URI = 'https://idp.test/keys';
let signer: Signer;

beforeAll(async () => {
  ({ good: signer } = await makeSigners());
});

function aWorld(over: Parameters<typeof anIssuer>[1] = {}): World {
  const world = new World();
  world.issuers.push(anIssuer(tenant('a'), over));
  world.documents.set(URI, { keys: [signer.jwk] });
  return world;
}

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

  it.each(['bearer', 'BEARER', 'Bearer', 'Bearer  '])('is taken behind %j', async (scheme) => {
    const world = aWorld();
    const authorization = `${scheme.trimEnd()}${' '.repeat(scheme.length - scheme.trimEnd().length || 1)}${await sign(signer, world.claims())}`;
    expect(await world.outcome(undefined, { authorization })).toMatchObject({ tenantId: 'a' });
  });

  it('is refused behind another scheme, two of them, or together with a second token', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims());
    for (const authorization of [
      token,
      `Basic ${token}`,
      `DPoP ${token}`,
      `Bearer Bearer ${token}`,
      `Bearer\t${token}`,
      `Bearer"${token}"`,
      `Bearer "${token}"`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token} ${token}`,
      `Bearer token=${token}`,
      ` Bearer ${token}`,
      'Bearer',
      'Bearer ',
      '',
    ])
      expect(await world.outcome(undefined, { authorization }), authorization).toBe('unauthenticated');
  });

  it('is refused with each of its bytes changed in turn', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims());
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(await world.outcome(token.slice(0, at) + other + token.slice(at + 1)), `at ${at}`).toBe('unauthenticated');
    }
    expect(await world.outcome(token)).toMatchObject({ tenantId: 'a' });
  });

  it.each(['PS256', 'EdDSA', 'ES384', 'RS512'])(
    'is taken when signed by %s, and not where others were named',
    async (alg) => {
      const other = await createSigner('k1', alg);
      for (const [algorithms, isTaken] of [
        [[], true],
        [[alg], true],
        [['ES256', 'RS256'], false],
      ] as const) {
        const world = aWorld({ algorithms });
        world.documents.set(URI, { keys: [other.jwk] });
        const outcome = await world.outcome(await sign(other, world.claims()));
        expect(typeof outcome === 'object', `${alg} of ${algorithms.join()}`).toBe(isTaken);
      }
    },
  );

  it('is refused when signed by ES256K, also where the tenant names it', async () => {
    const world = aWorld({ algorithms: ['ES256K'] });
    const { token, jwk } = es256k(world);
    world.documents.set(URI, { keys: [jwk] });
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
