// Wraps data keys, and the installation's own key, anew under the current master key. Nothing that they sealed changes.
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { wordsOfServiceKey } from './client-keys.ts';
import { wordsOfDataKey } from './data-key.ts';
import { isKeyUnknown, type KeyProvider, NotAuthentic, type Wrapped } from './key-provider.ts';
import type { RotationStore } from './rotation-store.ts';
import type { ServiceKeyStore } from './service-key-store.ts';

export interface Rewrapped {
  readonly rewrapped: number;
  /** Of a master key that is not here, or changed by somebody. */
  readonly failed: number;
}

export interface RewrapDeps {
  readonly store: Pick<RotationStore, 'listKeys' | 'rewrap' | 'rewrapServiceKey'>;
  readonly serviceKeys: Pick<ServiceKeyStore, 'list'>;
  readonly masterKeys: KeyProvider;
  readonly logger: Logger;
}

/** Rejects when the database or the keeper of the master keys is away. */
export async function rewrapTenant(deps: RewrapDeps, tenantId: TenantId, currentId: string): Promise<Rewrapped> {
  const tally = { rewrapped: 0, failed: 0 };
  for (const key of await deps.store.listKeys(tenantId)) {
    if (key.masterKeyId === currentId) continue;
    const from = { keyId: key.masterKeyId, bytes: key.wrapped };
    const to = await anew(deps, from, wordsOfDataKey(tenantId, key.id), { tenantId });
    if (to === undefined) tally.failed += 1;
    else if (await deps.store.rewrap(tenantId, key, to)) tally.rewrapped += 1;
  }
  return tally;
}

export async function rewrapServiceKeys(deps: RewrapDeps, currentId: string): Promise<Rewrapped> {
  const tally = { rewrapped: 0, failed: 0 };
  for (const { id, sealed, masterKeyId } of await deps.serviceKeys.list()) {
    if (masterKeyId === currentId) continue;
    const to = await anew(deps, { keyId: masterKeyId, bytes: sealed }, wordsOfServiceKey(id), {});
    if (to === undefined) tally.failed += 1;
    else if (await deps.store.rewrapServiceKey(id, sealed, to)) tally.rewrapped += 1;
  }
  return tally;
}

async function anew(
  { masterKeys, logger }: RewrapDeps,
  from: Wrapped,
  words: readonly string[],
  whose: { readonly tenantId?: TenantId },
): Promise<Wrapped | undefined> {
  try {
    const bytes = await masterKeys.unwrap(from, words);
    try {
      return await masterKeys.wrap(bytes, words);
    } finally {
      bytes.fill(0);
    }
  } catch (error) {
    if (!isKeyUnknown(error) && !(error instanceof NotAuthentic)) throw error;
    logger.error({ ...whose, masterKeyId: from.keyId, error: describeError(error) }, 'a key could not be wrapped anew');
    return undefined;
  }
}
