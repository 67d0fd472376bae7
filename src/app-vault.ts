// The part of the parts list that is about keys at rest: who keeps the master keys, the vault, and their rotation.
import type { KeysAtRest } from './admin/ports.ts';
import type { AppOptions } from './app-options.ts';
import { boundKeyProvider } from './credential/bound-key-provider.ts';
import type { KeyProvider } from './credential/key-provider.ts';
import { countWraps, reportDataKeys, reportMasterKeys, requireMasterKey } from './credential/key-report.ts';
import { createKeyRotation } from './credential/key-rotation.ts';
import { rotateDataKey } from './credential/rotate-data-key.ts';
import { createVault, type Vault } from './credential/vault.ts';
import type { Change } from './shared/changes.ts';
import type { Lifecycle } from './shared/lifecycle.ts';
import type { OpenChangeFeed } from './store/change-feed.ts';
import { createDataKeyStore } from './store/data-keys.ts';
import type { Database } from './store/database.ts';
import { createRotationStore } from './store/key-rotation.ts';
import { createSealedRowsStore } from './store/sealed-rows.ts';
import { createServiceKeyStore } from './store/service-keys.ts';

export interface VaultParts {
  readonly masterKeys: KeyProvider;
  readonly vault: Vault;
  readonly keysAtRest: KeysAtRest;
}

/** Whether there is something that can be opened only with a master key of before. */
export async function isAnythingWrapped(database: Database): Promise<boolean> {
  const stored = { store: createRotationStore(database), serviceKeys: createServiceKeyStore(database) };
  return (await countWraps(stored, undefined)).size > 0;
}

/** Throws when the master keys that are given open nothing of what is stored. */
export async function createVaultParts(
  { masterKeys: provider, clock, logger }: Pick<AppOptions, 'masterKeys' | 'clock' | 'logger'>,
  database: Database,
  changes: OpenChangeFeed,
  life: Lifecycle,
): Promise<VaultParts> {
  const masterKeys = boundKeyProvider(provider, clock);
  const [store, dataKeys, serviceKeys] = [
    createRotationStore(database),
    createDataKeyStore(database),
    createServiceKeyStore(database),
  ];
  const report = { store, serviceKeys, masterKeys };
  await requireMasterKey(report, logger);
  const vault = createVault({ masterKeys, dataKeys });
  // Before anybody else hears of it: what they then read must not be opened with a key that is gone.
  life.onClose(
    'vault',
    changes.subscribe(({ kind }: Change) => {
      if (kind === 'data_keys' || kind === 'resync') vault.doubtKeys();
    }),
  );
  const rotation = createKeyRotation({
    ...report,
    rows: createSealedRowsStore(database),
    vault,
    clock,
    logger,
  });
  life.onClose('rotation of keys', () => rotation.close());
  const keysAtRest: KeysAtRest = {
    masterKeys: () => reportMasterKeys(report),
    dataKeys: (tenantId) => reportDataKeys(report, tenantId),
    async rotate(tenantId) {
      await rotateDataKey({ store, dataKeys, masterKeys }, tenantId, clock.now());
      rotation.wake(tenantId);
    },
    async shred(tenantId) {
      await store.removeAll(tenantId);
      changes.announce({ kind: 'data_keys', tenantId });
    },
  };
  void rotation.run();
  return { masterKeys, vault, keysAtRest };
}
