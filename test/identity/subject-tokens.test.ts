import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/identity/caller.ts';
import { SubjectTokens } from '../../src/identity/subject-tokens.ts';
import { parsePrincipalId } from '../../src/shared/id.ts';
import { aCaller } from '../proxy/support.ts';
import { anIssuer, createSigner, ISSUER, type Signer, sign, tenant, World } from './support.ts';

const URI = 'https://idp.test/keys';
let signer: Signer;
beforeAll(async () => {
  signer = await createSigner('k1');
});

function aWorld(): World {
  const world = new World();
  world.issuers.push(anIssuer(tenant('a')));
  world.documents.set(URI, { keys: [signer.jwk] });
  return world;
}

const subjectOf = (world: World, { tenantId, principalId }: Pick<Caller, 'tenantId' | 'principalId'>) =>
  world.authenticator.subjectTokenOf(tenantId, principalId)?.reveal();

/** Lets background checks finish; nothing in them waits for time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

describe('the token of a caller that is exchanged for one of a server', () => {
  it('is the one that this principal last came with (RFC 8693)', async () => {
    const world = aWorld();
    const [ann, bob] = await Promise.all(['ann', 'bob'].map(async (sub) => sign(signer, world.claims({ sub }))));
    const caller = await world.ask(ann);
    const other = await world.ask(bob);
    expect(subjectOf(world, caller)).toBe(ann);
    expect(subjectOf(world, other)).toBe(bob);
    const next = await sign(signer, world.claims({ jti: '2' }));
    await world.ask(next);
    expect(subjectOf(world, caller)).toBe(next);
  });

  it('is not there for one who came with an agent key, nor for another tenant or a stranger', async () => {
    const world = aWorld();
    const { key } = world.addKey({ principal: 'bob' });
    const bob = await world.ask(key);
    expect(subjectOf(world, bob)).toBeUndefined();
    const ann = await world.ask(await sign(signer, world.claims()));
    expect(ann.principalId).toBe(`${ISSUER}#ann`);
    expect(subjectOf(world, { ...ann, tenantId: tenant('b') })).toBeUndefined();
    expect(subjectOf(world, { ...ann, principalId: parsePrincipalId('ann') ?? ann.principalId })).toBeUndefined();
  });

  it('is never one that was refused', async () => {
    const world = aWorld();
    const stranger = await createSigner('k1');
    const good = await sign(signer, world.claims());
    const caller = await world.ask(good);
    expect(await world.outcome(await sign(stranger, world.claims()))).toBe('unauthenticated');
    expect(await world.outcome(await sign(signer, world.claims({ aud: 'https://other.test' })))).toBe(
      'unauthenticated',
    );
    expect(subjectOf(world, caller)).toBe(good);
  });

  it('ends when the token ends', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims({ exp: world.now + 60 }));
    const caller = await world.ask(token);
    world.clock.advance(60_000);
    expect(subjectOf(world, caller)).toBe(token);
    world.clock.advance(30_000);
    expect(subjectOf(world, caller)).toBeUndefined();
  });

  it.each(['issuers', 'tenants'] as const)('is forgotten when the %s of its tenant change', async (kind) => {
    const world = aWorld();
    world.issuers.push(anIssuer(tenant('b'), { issuer: 'https://idp-b.test' }));
    const [a, b] = await Promise.all([
      sign(signer, world.claims()),
      sign(signer, world.claims({ iss: 'https://idp-b.test' })),
    ]);
    const [ann, beth] = [await world.ask(a), await world.ask(b)];
    world.announce({ kind, tenantId: tenant('a') });
    expect(subjectOf(world, ann)).toBeUndefined();
    expect(subjectOf(world, beth)).toBe(b);
    // Still good: it comes again with the next request.
    await world.ask(a);
    expect(subjectOf(world, ann)).toBe(a);
  });

  it('is not remembered by a check that began before its issuer was removed', async () => {
    const world = aWorld();
    const token = await sign(signer, world.claims());
    let open: () => void = () => undefined;
    world.gate = new Promise((resolve) => (open = resolve));
    const asking = Promise.resolve(world.ask(token));
    await settle();
    world.issuers.length = 0;
    world.announce({ kind: 'issuers', tenantId: tenant('a') });
    open();
    const caller = await asking;
    expect(subjectOf(world, caller)).toBeUndefined();
  });

  it('is forgotten when it is checked again and refused, but not the newer one of the same person', async () => {
    for (const hasNewer of [false, true]) {
      const world = aWorld();
      const token = await sign(signer, world.claims());
      const caller = await world.ask(token);
      const newer = await sign(signer, world.claims({ jti: '2' }));
      if (hasNewer) await world.ask(newer);
      // The notice of the issuer's end was lost.
      world.issuers.length = 0;
      world.announce({ kind: 'resync' });
      await world.ask(token);
      await settle();
      expect(subjectOf(world, caller)).toBe(hasNewer ? newer : undefined);
    }
  });
});

describe('the memory of such tokens', () => {
  it('has a bound: the longest unused go first', () => {
    const subjects = new SubjectTokens();
    const long = 'x'.repeat(8 * 1024);
    for (let n = 0; n < 5_000; n++) subjects.remember(aCaller(`p${n}`), long, 1);
    expect(subjects.find(aCaller('p0').key, 0)).toBeUndefined();
    expect(subjects.find(aCaller('p4999').key, 0)?.reveal()).toBe(long);
  });
});
