import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredCredential } from '../../src/credential/credential-store.ts';
import type { ServerId } from '../../src/shared/id.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { addServer, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;
const [acme, beta] = [tenantId('acme'), tenantId('beta')];

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

const aStore = () => createCredentialStore(nodes.next());

let made = 0;
const aGrant = (over: Partial<StoredCredential> = {}): Omit<StoredCredential, 'version' | 'updatedAt'> => ({
  tenantId: acme,
  serverId: `s${++made}` as ServerId,
  owner: 'p:ada',
  kind: 'grant',
  binding: 'b',
  sealed: randomBytes(40),
  details: {},
  ...over,
});

type Kept = ReturnType<typeof aGrant>;
const find = ({ tenantId, serverId, owner }: Kept) => aStore().find(tenantId, serverId, owner);

describe('a credential that is replaced', () => {
  it('is so by one of twenty who renew the same version at once, on two nodes (T10)', async () => {
    const grant = aGrant();
    const version = await aStore().put(grant, NOW);
    const written = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const sealed = Buffer.from(`renewal ${n}`);
        return { sealed, version: await aStore().replace({ ...grant, sealed }, version, NOW + n) };
      }),
    );
    const winners = written.filter((one) => one.version !== undefined);
    expect(winners).toHaveLength(1);
    expect(await find(grant)).toMatchObject({ version: winners[0]?.version, sealed: winners[0]?.sealed });
    expect(BigInt(winners[0]?.version ?? 0)).toBeGreaterThan(BigInt(version));
  });

  it('is made by one of twenty where there was none', async () => {
    const grant = aGrant();
    const written = await Promise.all(Array.from({ length: 20 }, () => aStore().replace(grant, undefined, NOW)));
    expect(written.filter((version) => version !== undefined)).toEqual([(await find(grant))?.version]);
  });

  it('changes in all it has: kind, binding, text, details and time', async () => {
    const grant = aGrant({ details: { issuer: 'a' } });
    const version = await aStore().put(grant, NOW);
    const next = { ...grant, kind: 'secret', binding: 'c', sealed: randomBytes(9), details: { issuer: 'b' } } as const;
    const written = await aStore().replace(next, version, NOW + 1);
    expect(await find(grant)).toEqual({ ...next, version: written, updatedAt: NOW + 1 });
  });

  it('never undoes a newer sign-in, nor brings back what was removed (B184)', async () => {
    const grant = aGrant();
    const before = await aStore().put(grant, NOW);
    const after = await aStore().put(grant, NOW);
    expect(await aStore().replace(grant, before, NOW)).toBeUndefined();
    expect(await aStore().replace(grant, undefined, NOW)).toBeUndefined();
    expect((await find(grant))?.version).toBe(after);
    await aStore().remove(acme, grant.serverId, grant.owner);
    expect(await aStore().replace(grant, after, NOW)).toBeUndefined();
    expect(await find(grant)).toBeUndefined();
  });

  it('is nobody else’s', async () => {
    const grant = aGrant();
    const others = [
      { ...grant, owner: 'p:bert' },
      { ...grant, tenantId: beta },
    ];
    const version = await aStore().put(grant, NOW);
    for (const other of others) {
      await aStore().put(other, NOW);
      expect(await aStore().replace(other, version, NOW)).toBeUndefined();
    }
    expect((await find(grant))?.version).toBe(version);
  });
});

describe('credentials of a server that was edited', () => {
  it('are removed but for those of the place where it is now (T11, B168)', async () => {
    const serverId = await addServer(nodes.next(), acme, 'moved');
    const [old, current] = [
      aGrant({ serverId, binding: 'old' }),
      aGrant({ serverId, owner: 'p:bert', binding: 'new' }),
    ];
    const elsewhere = [aGrant({ binding: 'old' }), aGrant({ serverId, tenantId: beta, binding: 'old' })];
    for (const grant of [old, current, ...elsewhere]) await aStore().put(grant, NOW);
    await aStore().removeOthers(acme, serverId, 'new', NOW - 1);
    expect(await find(old), 'kept after the edit').toBeDefined();
    await aStore().removeOthers(acme, serverId, 'new', NOW);
    expect(await find(old)).toBeUndefined();
    for (const grant of [current, ...elsewhere]) expect(await find(grant)).toBeDefined();
  });
});

describe('the credentials of one person', () => {
  it('are those of all their servers and of nobody else', async () => {
    const owner = 'p:lister';
    const mine = [aGrant({ owner, details: { issuer: 'https://as.example' } }), aGrant({ owner, kind: 'secret' })];
    for (const grant of [
      ...mine,
      aGrant({ owner: 'p:other' }),
      aGrant({ owner: '' }),
      aGrant({ owner, tenantId: beta }),
    ])
      await aStore().put(grant, NOW);
    expect(await aStore().listOf(acme, owner)).toMatchObject(mine);
    expect(await aStore().listOf(acme, 'p:nobody')).toEqual([]);
  });

  it('show details that are no object as none: somebody wrote them by hand', async () => {
    const grant = aGrant({ owner: 'p:by-hand' });
    await aStore().put(grant, NOW);
    await nodes.admin.query(`UPDATE credentials SET details = '[1]' WHERE owner = 'p:by-hand'`);
    expect((await aStore().listOf(acme, 'p:by-hand'))[0]?.details).toEqual({});
  });
});
