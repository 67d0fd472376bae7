// Seals secrets so that a row opens only as itself: for its tenant, in its place, under its tenant's own key.
//
// Envelope: a data key per tenant seals the secrets; the master key, which the database never sees,
// wraps the data keys. Deleting a tenant's data keys makes its secrets unreadable for ever.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import type { DataKeyStore } from './credential-store.ts';
import type { KeyProvider } from './key-provider.ts';
import { openBox, sealBox } from './sealed-box.ts';

export interface Vault {
  /** `context` says what the secret is and whose; it is not stored and has to be the same when opening. */
  seal(tenantId: TenantId, context: readonly string[], plaintext: string): Promise<Buffer>;
  open(tenantId: TenantId, context: readonly string[], sealed: Buffer): Promise<Secret>;
}

export interface VaultDeps {
  readonly masterKeys: KeyProvider;
  readonly dataKeys: DataKeyStore;
}

interface DataKey {
  readonly id: string;
  readonly key: KeyObject;
}

// Sealed: version, data key id, box.
const VERSION = 1;
const ID_BYTES = 16;
const ID_END = 1 + ID_BYTES;
const OPENED_KEYS = 1_000;

export function createVault({ masterKeys, dataKeys }: VaultDeps): Vault {
  const opened = new LRUCache<string, DataKey>({ max: OPENED_KEYS });

  const unwrap = async (tenantId: TenantId, id: string, wrapped: Buffer, masterKeyId: string): Promise<DataKey> => {
    const cacheKey = `${tenantId}\u0000${id}`;
    const known = opened.get(cacheKey);
    if (known !== undefined) return known;
    const master = await masterKeys.find(masterKeyId);
    if (master === undefined) throw cannotOpen(`master key ${masterKeyId} is not among those given`);
    const bytes = openOrRefuse(master.key, ['data-key', tenantId, id], wrapped);
    const dataKey = { id, key: createSecretKey(bytes) };
    opened.set(cacheKey, dataKey);
    return dataKey;
  };

  /** Asks the database each time: a tenant that was removed and made again must not be sealed for with a key that is gone. */
  const currentKey = async (tenantId: TenantId): Promise<DataKey> => {
    const { id, wrapped, masterKeyId } = await dataKeys.ensure(tenantId, await makeDataKey(masterKeys, tenantId));
    return unwrap(tenantId, id, wrapped, masterKeyId);
  };

  const findKey = async (tenantId: TenantId, id: string): Promise<DataKey> => {
    const known = opened.get(`${tenantId}\u0000${id}`);
    if (known !== undefined) return known;
    const stored = (await dataKeys.list(tenantId)).find((dataKey) => dataKey.id === id);
    if (stored === undefined) throw cannotOpen('the tenant has no such data key');
    return unwrap(tenantId, id, stored.wrapped, stored.masterKeyId);
  };

  return {
    async seal(tenantId, context, plaintext) {
      const { id, key } = await currentKey(tenantId);
      const box = sealBox(key, [tenantId, ...context], Buffer.from(plaintext));
      return Buffer.concat([Buffer.from([VERSION]), Buffer.from(id, 'hex'), box]);
    },
    async open(tenantId, context, sealed) {
      if (sealed[0] !== VERSION || sealed.length < ID_END) throw cannotOpen('unknown format');
      const { key } = await findKey(tenantId, sealed.subarray(1, ID_END).toString('hex'));
      return new Secret(openOrRefuse(key, [tenantId, ...context], sealed.subarray(ID_END)).toString());
    },
  };
}

/** A candidate; it counts only when the store has none yet. */
async function makeDataKey(
  masterKeys: KeyProvider,
  tenantId: TenantId,
): Promise<{ id: string; wrapped: Buffer; masterKeyId: string }> {
  const master = await masterKeys.current();
  const id = randomBytes(ID_BYTES).toString('hex');
  return { id, wrapped: sealBox(master.key, ['data-key', tenantId, id], randomBytes(32)), masterKeyId: master.id };
}

function openOrRefuse(key: KeyObject, words: readonly string[], box: Buffer): Buffer {
  try {
    return openBox(key, words, box);
  } catch {
    throw cannotOpen('not authentic');
  }
}

/** One sentence for every reason; which it was is for our own log only. */
function cannotOpen(reason: string): ProxyError {
  return new ProxyError('internal', 'A stored secret could not be opened.', { cause: new Error(reason) });
}
