import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClientKeys } from '../../src/credential/client-keys.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import type { StoredServiceKey } from '../../src/credential/service-key-store.ts';
import { createServiceKeyStore } from '../../src/store/service-keys.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { eventually } from './eventually.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;

let nodes: TwoNodes;
beforeEach(async () => {
  nodes = await openTwoNodes();
});
afterEach(() => nodes.close());

const WAITING = `SELECT FROM pg_locks WHERE relation = 'service_keys'::regclass AND NOT granted`;

const aKey = (id: string): StoredServiceKey => ({
  id,
  publicJwk: { kty: 'EC', kid: id },
  sealed: randomBytes(100),
  masterKeyId: 'm',
});

const aNode = (masterKey: string) =>
  createClientKeys({
    store: createServiceKeyStore(nodes.next()),
    masterKeys: createStaticKeyProvider([masterKey]),
    clock: new FakeClock(),
  });

describe('the key of an installation', () => {
  it('is one of twenty that are offered at once, and all are told the same', async () => {
    const keys = Array.from({ length: 20 }, (_, n) => aKey(`k${n}`));
    const given = await Promise.all(keys.map((key) => createServiceKeyStore(nodes.next()).ensure(key, NOW)));
    expect(new Set(given.map((all) => all.map(({ id }) => id).join())).size).toBe(1);
    expect(keys).toContainEqual(given[0]?.[0]);
    expect(await createServiceKeyStore(nodes.next()).list()).toEqual(given[0]);
  });

  it('is not offered beside one that another node is just writing', async () => {
    const [first, second] = nodes.databases;
    const { ensuring } = await first.within({ kind: 'service' }).transaction(async (writing) => {
      await writing.query(
        `INSERT INTO service_keys (id, public_jwk, sealed, master_key_id, created_at) VALUES ('theirs', '{}', $1, 'm', $2)`,
        [randomBytes(8), new Date(NOW)],
      );
      const started = createServiceKeyStore(second).ensure(aKey('mine'), NOW);
      started.catch(() => undefined);
      await eventually('the wait', async () => (await nodes.admin.query(WAITING)).length > 0);
      // Not awaited here: it waits for this very transaction.
      return { ensuring: started };
    });
    expect((await ensuring).map(({ id }) => id)).toEqual(['theirs']);
  });

  it('is the newest where there are several', async () => {
    await createServiceKeyStore(nodes.next()).ensure(aKey('old'), NOW);
    await nodes.admin.query(
      `INSERT INTO service_keys (id, public_jwk, sealed, master_key_id, created_at) VALUES ('new', '{}', $1, 'm', $2)`,
      [randomBytes(8), new Date(NOW + 1)],
    );
    expect((await createServiceKeyStore(nodes.next()).list()).map(({ id }) => id)).toEqual(['new', 'old']);
  });

  it('is made once by two nodes that boot together, and a master key that is not theirs opens nothing (T22)', async () => {
    const master = randomBytes(32).toString('base64');
    const both = [aNode(master), aNode(master)];
    const [mine, theirs] = await Promise.all(both.map((node) => node.current()));
    expect(mine?.id).toBe(theirs?.id);
    const [jwks, others] = await Promise.all(both.map((node) => node.publicJwks()));
    expect(jwks).toEqual(others);
    expect(jwks?.keys.map(({ kid }) => kid)).toEqual([mine?.id]);
    await expect(aNode(randomBytes(32).toString('base64')).current()).rejects.toMatchObject({ code: 'overloaded' });
    // The private half of a P-256 key has a member "d" as JWK, and its curve's name as PKCS #8.
    const rows = await nodes.admin.query<{ public_jwk: object; sealed: Buffer }>(
      'SELECT public_jwk, sealed FROM service_keys',
    );
    expect(rows).toHaveLength(1);
    expect(Object.keys(rows[0]?.public_jwk ?? { d: 1 })).not.toContain('d');
    expect(rows[0]?.sealed.includes(Buffer.from('06072a8648ce3d0201', 'hex'))).toBe(false);
  });
});
