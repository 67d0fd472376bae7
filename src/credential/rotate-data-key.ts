// Gives a tenant a new data key for all that is sealed from now on. What is there is sealed anew in the background.
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { makeDataKey } from './data-key.ts';
import type { DataKeyStore } from './data-key-store.ts';
import type { KeyProvider } from './key-provider.ts';
import type { RotationStore } from './rotation-store.ts';

export interface RotateDataKeyDeps {
  readonly store: Pick<RotationStore, 'listKeys' | 'makeCurrent'>;
  readonly dataKeys: Pick<DataKeyStore, 'ensure'>;
  readonly masterKeys: KeyProvider;
}

/** Each is read when a tenant's things are opened, and looked at by each round of the rotation. */
const MAX_DATA_KEYS = 20;

/** Of two who ask at once one makes the key, and both are told the same. Throws `rate_limited` for too many keys. */
export async function rotateDataKey(deps: RotateDataKeyDeps, tenantId: TenantId, now: number): Promise<void> {
  const keys = await deps.store.listKeys(tenantId);
  if (keys.length >= MAX_DATA_KEYS)
    throw new ProxyError(
      'rate_limited',
      `This tenant has ${MAX_DATA_KEYS} data keys. One goes when it has sealed nothing for an hour; rotate again after that.`,
    );
  const current = keys.find(({ isCurrent }) => isCurrent);
  const key = await makeDataKey(deps.masterKeys, tenantId);
  if (current === undefined) await deps.dataKeys.ensure(tenantId, key);
  else await deps.store.makeCurrent(tenantId, current.id, key, now);
}
