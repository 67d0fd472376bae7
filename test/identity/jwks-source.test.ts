import { beforeAll, describe, expect, it } from 'vitest';
import { createJwksSource } from '../../src/identity/jwks-source.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { anIssuer, createSigner, failureOf, type Signer, sign, tenant, World } from './support.ts';

const URI = 'https://idp.test/keys';
let signer: Signer;
let second: Signer;

beforeAll(async () => {
  [signer, second] = await Promise.all([createSigner('k1'), createSigner('k2')]);
});

function aWorld(...keys: unknown[]): World {
  const world = new World();
  world.issuers.push(anIssuer(tenant('a')));
  world.documents.set(URI, { keys });
  return world;
}

const taken = { tenantId: 'a' };

describe('T14: the keys of an issuer', () => {
  it('are fetched once for 200 tokens of unknown key ids', async () => {
    const world = aWorld(signer.jwk);
    for (let i = 0; i < 200; i += 1) {
      expect(await world.outcome(await sign(signer, world.claims(), { kid: `x${i}` }))).toBe('unauthenticated');
    }
    expect(world.fetched).toHaveLength(1);
  });

  it('are asked for seldom while the endpoint is down', async () => {
    const world = aWorld();
    world.documents.clear();
    for (let i = 0; i < 20; i += 1)
      expect(await world.outcome(await sign(signer, world.claims({ n: i })))).toBe('unauthenticated');
    expect(world.fetched).toHaveLength(1);
    expect(world.log.filter((line) => line.includes('issuer keys not fetched'))).toHaveLength(1);
    world.clock.advance(10_000);
    world.documents.set(URI, { keys: [signer.jwk] });
    expect(await world.outcome(await sign(signer, world.claims()))).toMatchObject(taken);
    expect(world.fetched).toHaveLength(2);
  });

  it('are fetched once for many who ask together', async () => {
    const world = aWorld(signer.jwk);
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => sign(signer, world.claims({ n }))));
    for (const outcome of await Promise.all(tokens.map((token) => world.outcome(token))))
      expect(outcome).toMatchObject(taken);
    expect(world.fetched).toHaveLength(1);
    expect(world.clock.pending).toBe(0);
  });

  it('are missed once, in one line, by many who ask together', async () => {
    const world = aWorld();
    world.documents.clear();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => sign(signer, world.claims({ n }))));
    await Promise.all(tokens.map((token) => world.outcome(token)));
    expect(world.fetched).toHaveLength(1);
    expect(world.log.filter((line) => line.includes('issuer keys not fetched'))).toHaveLength(1);
  });

  it('are fetched again for a new key id, but not within 30 seconds', async () => {
    const world = aWorld(signer.jwk);
    await world.ask(await sign(signer, world.claims()));
    world.documents.set(URI, { keys: [signer.jwk, second.jwk] });
    expect(await world.outcome(await sign(second, world.claims()))).toBe('unauthenticated');
    world.clock.advance(30_000);
    expect(await world.outcome(await sign(second, world.claims()))).toMatchObject(taken);
    expect(world.fetched).toHaveLength(2);
  });

  it('are used for ten minutes, then fetched again', async () => {
    const world = aWorld(signer.jwk);
    await world.ask(await sign(signer, world.claims()));
    world.documents.set(URI, { keys: [second.jwk] });
    world.clock.advance(599_999);
    expect(await world.outcome(await sign(signer, world.claims()))).toMatchObject(taken);
    world.clock.advance(1);
    expect(await world.outcome(await sign(signer, world.claims()))).toBe('unauthenticated');
  });

  it('go on being used for an hour while the endpoint fails, and no longer', async () => {
    const world = aWorld(signer.jwk);
    await world.ask(await sign(signer, world.claims()));
    world.documents.clear();
    world.clock.advance(3_599_999);
    expect(await world.outcome(await sign(signer, world.claims({ n: 1 })))).toMatchObject(taken);
    world.clock.advance(1);
    expect(await world.outcome(await sign(signer, world.claims({ n: 2 })))).toBe('unauthenticated');
  });

  it('are dropped when the tenant’s issuers change, and those of others kept', async () => {
    const world = aWorld(signer.jwk);
    await world.ask(await sign(signer, world.claims()));
    world.announce({ kind: 'issuers', tenantId: tenant('b') });
    await world.ask(await sign(signer, world.claims({ n: 1 })));
    expect(world.fetched).toHaveLength(1);
    world.announce({ kind: 'issuers', tenantId: tenant('a') });
    world.documents.set(URI, { keys: [second.jwk] });
    expect(await world.outcome(await sign(signer, world.claims({ n: 2 })))).toBe('unauthenticated');
    expect(await world.outcome(await sign(second, world.claims()))).toMatchObject(taken);
  });

  it('may be two for a token without key id', async () => {
    const world = aWorld({ ...second.jwk, kid: undefined }, { ...signer.jwk, kid: undefined });
    expect(await world.outcome(await sign({ ...signer, jwk: {} }, world.claims()))).toMatchObject(taken);
    const stranger = await createSigner(undefined);
    expect(await world.outcome(await sign(stranger, world.claims()))).toBe('unauthenticated');
    expect(await world.outcome(await sign({ ...signer, jwk: {} }, world.claims({ exp: world.now - 100 })))).toBe(
      'unauthenticated',
    );
  });

  it('are at most 100, each by itself allowed to be strange', async () => {
    const strange = [null, 'x', { kty: 'new' }, { kty: 'RSA', n: 5 }, { kty: 'EC', kid: 'k9', crv: 'P-256' }];
    const fits = aWorld(signer.jwk, ...strange, ...Array.from({ length: 94 }, () => ({ kty: 'new' })));
    expect(await fits.outcome(await sign(signer, fits.claims()))).toMatchObject(taken);
    expect(await fits.outcome(await sign(signer, fits.claims(), { kid: 'k9' }))).toBe('unauthenticated');
    const tooMany = aWorld(signer.jwk, ...Array.from({ length: 100 }, () => ({ kty: 'new' })));
    expect(await tooMany.outcome(await sign(signer, tooMany.claims()))).toBe('unauthenticated');
    for (const answer of [null, [], 'x', {}, { keys: {} }]) {
      const world = aWorld();
      world.documents.set(URI, answer);
      expect(await world.outcome(await sign(signer, world.claims()))).toBe('unauthenticated');
    }
  });

  it('are not waited for longer than five seconds, by an endpoint that does not obey either', async () => {
    const clock = new FakeClock();
    let seen: AbortSignal | undefined;
    const source = createJwksSource({
      clock,
      logger: createLogger('silent'),
      fetchJson: (_, signal) => {
        seen = signal;
        return new Promise(() => undefined);
      },
    });
    const failure = failureOf(() => source.resolve(anIssuer(tenant('a'))));
    clock.advance(5_000);
    expect(await failure).toMatchObject({ message: 'the issuer has no usable keys' });
    expect(seen?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
