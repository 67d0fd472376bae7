// What the log says after a round is what an operator takes an old master key away by, so it has to be true.
import { describe, expect, it } from 'vitest';
import { wordsOfDataKey } from '../../src/credential/data-key.ts';
import { createKeyRotation } from '../../src/credential/key-rotation.ts';
import type { RotationStore, SealedTable, StoredDataKey } from '../../src/credential/rotation-store.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { newMasterKey, turningKeys } from '../support/turning-keys.ts';
import { aTenantId } from './in-memory.ts';

const ACME = aTenantId('acme');
const ALL_WRAPPED = 'every stored key is wrapped by the current master key';

const noRows: SealedTable<never> = { list: async () => [], replace: async () => false };

/** One tenant, whose one key an older master key wraps. */
async function aBench() {
  const [before, now] = [newMasterKey(), newMasterKey()];
  const masterKeys = turningKeys(before);
  const old = await masterKeys.wrap(Buffer.alloc(32, 7), wordsOfDataKey(ACME, 'k'));
  masterKeys.turn(now, before);
  const clock = new FakeClock();
  const lines: string[] = [];
  const bench = {
    clock,
    old: old.keyId,
    current: await masterKeys.currentId(),
    key: {
      id: 'k',
      wrapped: old.bytes,
      masterKeyId: old.keyId,
      isCurrent: true,
      createdAt: 0,
      unusedSince: undefined,
    } as StoredDataKey,
    /** Somebody else is always before us, and by the old key. */
    isBeaten: false,
    said: () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>),
  };
  const store: RotationStore = {
    listTenants: async () => [ACME],
    listKeys: async () => [bench.key],
    async rewrap(_tenant, _key, { bytes, keyId }) {
      if (bench.isBeaten) return false;
      bench.key = { ...bench.key, wrapped: bytes, masterKeyId: keyId };
      return true;
    },
    rewrapServiceKey: async () => false,
    makeCurrent: async () => false,
    countSealed: async () => 0,
    setUnused: async () => undefined,
    removeUnused: async () => false,
    removeAll: async () => undefined,
  };
  const rotation = createKeyRotation({
    store,
    masterKeys,
    serviceKeys: { list: async () => [] },
    rows: {
      credentials: noRows,
      clients: noRows,
      attempts: noRows,
      listDefinitions: async () => [],
      replaceDefinition: async () => false,
      findSignIn: async () => undefined,
      replaceSignIn: async () => false,
    },
    vault: { reseal: async () => undefined },
    clock,
    logger: createLogger('info', { write: (line) => void lines.push(line) }),
  });
  return { bench, rotation };
}

describe('after a round of the rotation', () => {
  it('every key is said to be under the current master key when a count finds no other', async () => {
    const { bench, rotation } = await aBench();
    await rotation.run();
    expect(bench.key.masterKeyId).toBe(bench.current);
    expect(bench.said()).toMatchObject([{ msg: ALL_WRAPPED, rewrapped: 1, failed: 0 }]);
    await rotation.close();
  });

  it('what others hold under another one is named instead, and done soon', async () => {
    const { bench, rotation } = await aBench();
    bench.isBeaten = true;
    await rotation.run();
    expect(bench.said()).toMatchObject([
      { msg: expect.not.stringContaining(ALL_WRAPPED), wrappedElsewhere: { [bench.old]: 1 } },
    ]);
    bench.isBeaten = false;
    bench.clock.advance(30_000);
    await rotation.run();
    expect(bench.said()).toContainEqual(expect.objectContaining({ msg: ALL_WRAPPED }));
    expect(bench.key.masterKeyId).toBe(bench.current);
    await rotation.close();
    expect(bench.clock.pending).toBe(0);
  });
});
