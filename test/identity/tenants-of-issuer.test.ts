import { beforeAll, describe, expect, it } from 'vitest';
import { createInternCaller } from '../../src/identity/intern-caller.ts';
import { createJwksSource } from '../../src/identity/jwks-source.ts';
import { createJwtVerifier } from '../../src/identity/jwt-verifier.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { anIssuer, createSigner, PUBLIC_URL, type Signer, sign, tenant, World } from './support.ts';

const [a, b] = [tenant('a'), tenant('b')];
let mine: Signer;
let theirs: Signer;

beforeAll(async () => {
  [mine, theirs] = await Promise.all([createSigner('k1'), createSigner('k1')]);
});

function aWorld(...issuers: ReturnType<typeof anIssuer>[]): World {
  const world = new World();
  world.issuers.push(...issuers);
  return world;
}

const inline = (signer: Signer) => ({ jwksUri: undefined, jwks: { keys: [{ ...signer.jwk }] } });

describe('which tenant a signed token belongs to', () => {
  it('is the one that registered the issuer', async () => {
    const world = aWorld(anIssuer(a, inline(mine)), anIssuer(b, { issuer: 'https://b.test', ...inline(theirs) }));
    expect(await world.outcome(await sign(mine, world.claims()))).toMatchObject({ tenantId: 'a' });
    expect(await world.outcome(await sign(theirs, world.claims({ iss: 'https://b.test' })))).toMatchObject({
      tenantId: 'b',
    });
  });

  it('cannot be forged with the key of another tenant', async () => {
    const world = aWorld(anIssuer(a, inline(mine)), anIssuer(b, { issuer: 'https://b.test', ...inline(theirs) }));
    expect(await world.outcome(await sign(mine, world.claims({ iss: 'https://b.test' })))).toBe('unauthenticated');
    const shared = aWorld(
      anIssuer(a, { tenantClaim: 'org', ...inline(mine) }),
      anIssuer(b, { tenantClaim: 'org', ...inline(theirs) }),
    );
    expect(await shared.outcome(await sign(mine, shared.claims({ org: 'b' })))).toBe('unauthenticated');
    expect(await shared.outcome(await sign(mine, shared.claims({ org: 'a' })))).toMatchObject({ tenantId: 'a' });
  });

  it('is named by the claim when several share the issuer', async () => {
    const world = aWorld(
      anIssuer(a, { tenantClaim: 'org', ...inline(mine) }),
      anIssuer(b, { tenantClaim: 'org', ...inline(mine) }),
    );
    expect(await world.outcome(await sign(mine, world.claims({ org: 'a' })))).toMatchObject({ tenantId: 'a' });
    expect(await world.outcome(await sign(mine, world.claims({ org: 'b' })))).toMatchObject({ tenantId: 'b' });
    for (const org of [undefined, 'c', '', 'A', ['a'], { a: true }]) {
      expect(await world.outcome(await sign(mine, world.claims({ org })))).toBe('unauthenticated');
    }
  });

  it('must match the claim also when only one registered the issuer', async () => {
    const world = aWorld(anIssuer(a, { tenantClaim: 'org', ...inline(mine) }));
    expect(await world.outcome(await sign(mine, world.claims({ org: 'a' })))).toMatchObject({ tenantId: 'a' });
    expect(await world.outcome(await sign(mine, world.claims({ org: 'b' })))).toBe('unauthenticated');
    expect(await world.outcome(await sign(mine, world.claims()))).toBe('unauthenticated');
    expect(await world.outcome(await sign(mine, world.claims({ org: 'a', aud: 'https://other.test' })))).toBe(
      'unauthenticated',
    );
  });

  it('is never that of an issuer whose name differs from the one in the token', async () => {
    const clock = new FakeClock();
    const keys = createJwksSource({
      clock,
      logger: createLogger('silent'),
      fetchJson: () => Promise.reject(new Error('not asked')),
    });
    const careless = { findByIssuer: async () => [anIssuer(a, { issuer: 'https://IDP.test', ...inline(mine) })] };
    const verifier = createJwtVerifier({
      issuers: careless,
      keys,
      publicUrl: () => PUBLIC_URL,
      clock,
      intern: createInternCaller(10),
    });
    await expect(verifier.verify(await sign(mine, new World().claims()))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('is nobody’s when two could claim it', async () => {
    const world = aWorld(anIssuer(a, inline(mine)), anIssuer(b, inline(mine)));
    expect(await world.outcome(await sign(mine, world.claims()))).toBe('unauthenticated');
    const byTwoNames = aWorld(
      anIssuer(a, { tenantClaim: 'org', ...inline(mine) }),
      anIssuer(b, { tenantClaim: 'team', ...inline(mine) }),
    );
    expect(await byTwoNames.outcome(await sign(mine, byTwoNames.claims({ org: 'a', team: 'b' })))).toBe(
      'unauthenticated',
    );
  });

  it('stays a tenant’s own when another registers the same issuer with keys, audience or claim of its own', async () => {
    for (const over of [
      inline(theirs),
      { ...inline(mine), audience: 'https://b.test' },
      { ...inline(mine), tenantClaim: 'org' },
    ]) {
      const world = aWorld(anIssuer(a, inline(mine)), anIssuer(b, over));
      expect(await world.outcome(await sign(mine, world.claims()))).toMatchObject({ tenantId: 'a' });
    }
  });

  it('is not searched among more than a few', async () => {
    const many = Array.from({ length: 5 }, (_, i) => anIssuer(tenant(`t${i}`), inline(theirs)));
    const world = aWorld(anIssuer(a, inline(mine)), ...many);
    expect(await world.outcome(await sign(mine, world.claims()))).toBe('unauthenticated');
  });

  it('decides who somebody is: one sub of two issuers is two people', async () => {
    const world = aWorld(anIssuer(a, inline(mine)), anIssuer(a, { issuer: 'https://second.test', ...inline(mine) }));
    const one = await world.ask(await sign(mine, world.claims()));
    const two = await world.ask(await sign(mine, world.claims({ iss: 'https://second.test' })));
    expect(one.key).not.toBe(two.key);
  });

  it('looks unknown under the path of another tenant', async () => {
    const world = aWorld(anIssuer(a, inline(mine)));
    const token = await sign(mine, world.claims());
    expect(await world.outcome(token, { pathTenant: 'b' })).toBe('unauthenticated');
    expect(await world.outcome(token, { pathTenant: 'a' })).toMatchObject({ tenantId: 'a' });
    expect(await world.outcome(token, { pathTenant: 'b' })).toBe('unauthenticated');
  });
});
