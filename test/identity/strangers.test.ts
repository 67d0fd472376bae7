// How many without a good credential may come from one address, and that those with one are not hurt by them.
import { describe, expect, it } from 'vitest';
import { ProxyError } from '../../src/shared/errors.ts';
import { AUDIENCE, anIssuer, createSigner, ISSUER, sign, tenant, World } from './support.ts';

const NAT = { address: () => '192.0.2.1' };
const HOME = { address: () => '198.51.100.1' };

async function outcomes(world: World, count: number, token: (n: number) => string | undefined, from = NAT) {
  const all = await Promise.all(Array.from({ length: count }, (_, n) => world.outcome(token(n), from)));
  const counts: Record<string, number> = {};
  for (const one of all) {
    const name = typeof one === 'string' ? one : 'let in';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const unknownKey = (n: number): string => `kb_${String(n).padStart(43, 'x')}`;

describe('requests without a good credential', () => {
  it('are a thousand at once from one address, and then no key is looked for any more', async () => {
    const world = new World();
    expect(await outcomes(world, 3_000, unknownKey)).toEqual({ unauthenticated: 1_000, rate_limited: 2_000 });
    expect(world.lookUps.keys).toBe(1_000);
    expect(await outcomes(world, 1, unknownKey, HOME)).toEqual({ unauthenticated: 1 });
    world.clock.advance(1_000);
    expect(await outcomes(world, 100, (n) => unknownKey(9_000 + n))).toEqual({ unauthenticated: 50, rate_limited: 50 });
  });

  it('T14: no issuer is looked for and no key set fetched for what is refused', async () => {
    const world = new World();
    world.issuers.push(anIssuer(tenant('a')));
    await outcomes(world, 1_000, unknownKey);
    const signer = await createSigner('k');
    world.documents.set('https://idp.test/keys', { keys: [signer.jwk] });
    const token = await sign(signer, { iss: ISSUER, aud: AUDIENCE, sub: 'x' });
    expect(await outcomes(world, 50, () => token)).toEqual({ rate_limited: 50 });
    expect([world.lookUps.issuers, world.fetched]).toEqual([0, []]);
    expect(await outcomes(world, 1, () => token, HOME)).toEqual({ unauthenticated: 1 });
    expect(world.fetched).toHaveLength(1);
  });

  it.each([
    ['no token', () => undefined],
    ['one token that was refused before', () => unknownKey(1)],
    ['what is no token', () => '?'],
  ])('count with %s, too', async (_what, token) => {
    const world = new World();
    for (let n = 0; n < 1_000; n++) expect(await world.outcome(token(), NAT)).toBe('unauthenticated');
    expect(await world.outcome(token(), NAT)).toBe('rate_limited');
  });

  it('say when to come again', async () => {
    const world = new World();
    await outcomes(world, 1_000, unknownKey);
    await expect(async () => world.ask(unknownKey(1_000), NAT)).rejects.toMatchObject({
      code: 'rate_limited',
      data: { retryAfterMs: 20 },
    } satisfies Partial<ProxyError>);
  });
});

describe('somebody with a good key behind an address that is flooded', () => {
  it('is let in as if nothing were', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'anna' });
    expect(await outcomes(world, 1, () => key)).toEqual({ 'let in': 1 });
    await outcomes(world, 5_000, unknownKey);
    expect(await outcomes(world, 10_000, () => key)).toEqual({ 'let in': 10_000 });
  });

  it('is let in also when the key has to be checked again, for something changed in the tenant', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'anna' });
    await outcomes(world, 1, () => key);
    await outcomes(world, 5_000, unknownKey);
    world.announce({ kind: 'agent_keys', tenantId: tenant('a') });
    expect(await outcomes(world, 3, () => key)).toEqual({ 'let in': 3 });
    expect(world.lookUps.keys).toBeGreaterThan(1_000);
  });

  it('uses nothing up, however many keys are seen for the first time', async () => {
    const world = new World();
    const keys = Array.from({ length: 3_000 }, () => world.addKey({ principal: 'anna' }).key);
    for (let at = 0; at < keys.length; at += 500)
      expect(await outcomes(world, 500, (n) => keys[at + n])).toEqual({ 'let in': 500 });
    expect(await outcomes(world, 1_000, unknownKey)).toEqual({ unauthenticated: 1_000 });
  });

  it('is counted when the key was taken away meanwhile, from the second time on', async () => {
    const world = new World();
    const { key } = world.addKey({ principal: 'anna' });
    await outcomes(world, 1, () => key);
    await outcomes(world, 5_000, unknownKey);
    world.agentKeys.length = 0;
    world.announce({ kind: 'agent_keys', tenantId: tenant('a') });
    expect(await world.outcome(key, NAT)).toBe('unauthenticated');
    expect(await world.outcome(key, NAT)).toBe('rate_limited');
  });

  it('is not blamed for a database that is away', async () => {
    const world = new World();
    world.storeFailure = new Error('away');
    for (let n = 0; n < 1_500; n++) await expect(async () => world.ask(unknownKey(n), NAT)).rejects.toThrow('away');
    world.storeFailure = undefined;
    expect(await world.outcome(unknownKey(0), NAT)).toBe('unauthenticated');
  });
});
