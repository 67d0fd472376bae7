// A new data key, wrapped. It counts once a store has taken it.
import { randomBytes } from 'node:crypto';
import type { TenantId } from '../shared/id.ts';
import type { WrappedDataKey } from './data-key-store.ts';
import type { KeyProvider } from './key-provider.ts';
import { KEY_ID_BYTES } from './sealed-form.ts';

export const wordsOfDataKey = (tenantId: TenantId, id: string): readonly string[] => ['data-key', tenantId, id];

export async function makeDataKey(masterKeys: KeyProvider, tenantId: TenantId): Promise<WrappedDataKey> {
  const id = randomBytes(KEY_ID_BYTES).toString('hex');
  const { keyId, bytes } = await masterKeys.wrap(randomBytes(32), wordsOfDataKey(tenantId, id));
  return { id, wrapped: bytes, masterKeyId: keyId };
}
