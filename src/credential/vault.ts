// Seals secrets so that a row opens only as itself: for its tenant, in its place, under its tenant's own key.
//
// Envelope: a data key per tenant seals the secrets; a master key, which the database never sees, wraps the data
// keys. A tenant may have several data keys: the current one seals, all open. Deleting them makes its secrets
// unreadable for ever.
import { createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { makeDataKey, wordsOfDataKey } from './data-key.ts';
import type { DataKeyStore, WrappedDataKey } from './data-key-store.ts';
import { type KeyProvider, NotAuthentic } from './key-provider.ts';
import { type SealContext, wordsOf } from './seal-context.ts';
import { openBox, sealBox } from './sealed-box.ts';
import { ID_END, isFresh, keyIdIn, prefixOf, versionOf } from './sealed-form.ts';
import { cannotOpen, shredded } from './vault-errors.ts';

export interface Vault {
  /** `context` says what the secret is and whose; it is not stored and has to be the same when opening. */
  seal(tenantId: TenantId, context: SealContext, plaintext: string): Promise<Buffer>;
  open(tenantId: TenantId, context: SealContext, sealed: Buffer): Promise<Secret>;
  /** The same under the current key and in the newest form; undefined when it is so already. */
  reseal(tenantId: TenantId, context: SealContext, sealed: Buffer): Promise<Buffer | undefined>;
  /** Data keys may be gone: each is looked for in the database before it is used again. */
  doubtKeys(): void;
}

export interface VaultDeps {
  readonly masterKeys: KeyProvider;
  readonly dataKeys: DataKeyStore;
}

interface DataKey {
  readonly id: string;
  readonly key: KeyObject;
  /** Of the vault's doubts, when it was last seen in the database. */
  readonly seenAt: number;
}

const OPENED_KEYS = 1_000;

export function createVault({ masterKeys, dataKeys }: VaultDeps): Vault {
  const opened = new LRUCache<string, DataKey>({ max: OPENED_KEYS });
  const unwraps = new SingleFlight<DataKey>();
  let doubts = 0;

  /** What the database just gave. Many who ask at once are one question to the keeper of the master keys. */
  const unwrap = async (
    tenantId: TenantId,
    { id, wrapped, masterKeyId }: WrappedDataKey,
    seenAt: number,
  ): Promise<DataKey> => {
    const cacheKey = `${tenantId}\u0000${id}`;
    const known = opened.get(cacheKey);
    if (known !== undefined) {
      if (known.seenAt !== seenAt) opened.set(cacheKey, { ...known, seenAt });
      return known;
    }
    return unwraps.run(`${cacheKey}\u0000${masterKeyId}`, async () => {
      const words = wordsOfDataKey(tenantId, id);
      const bytes = await masterKeys.unwrap({ keyId: masterKeyId, bytes: wrapped }, words).catch(rethrow);
      const dataKey = { id, key: createSecretKey(bytes), seenAt };
      opened.set(cacheKey, dataKey);
      return dataKey;
    });
  };

  /** Asks the database each time: nothing must be sealed with a key that was replaced, or is gone with its tenant. */
  const currentKey = async (tenantId: TenantId): Promise<DataKey> => {
    const seenAt = doubts;
    const stored =
      (await dataKeys.findCurrent(tenantId)) ??
      (await dataKeys.ensure(tenantId, await makeDataKey(masterKeys, tenantId)));
    return unwrap(tenantId, stored, seenAt);
  };

  const findKey = async (tenantId: TenantId, id: string): Promise<DataKey> => {
    const cacheKey = `${tenantId}\u0000${id}`;
    const known = opened.get(cacheKey);
    const seenAt = doubts;
    if (known?.seenAt === seenAt) return known;
    const stored = (await dataKeys.list(tenantId)).find((dataKey) => dataKey.id === id);
    if (stored !== undefined) return unwrap(tenantId, stored, seenAt);
    opened.delete(cacheKey);
    throw shredded();
  };

  const sealWith = ({ id, key }: DataKey, tenantId: TenantId, context: SealContext, plaintext: Buffer): Buffer =>
    Buffer.concat([prefixOf(id), sealBox(key, wordsOf(2, tenantId, context), plaintext)]);

  const openBytes = async (tenantId: TenantId, context: SealContext, sealed: Buffer): Promise<Buffer> => {
    const version = versionOf(sealed);
    if (version === undefined) throw cannotOpen('unknown format');
    const { key } = await findKey(tenantId, keyIdIn(sealed));
    try {
      return openBox(key, wordsOf(version, tenantId, context), sealed.subarray(ID_END));
    } catch {
      throw cannotOpen('not authentic');
    }
  };

  return {
    async seal(tenantId, context, plaintext) {
      // It has no bytes that would give it back.
      if (/\p{Surrogate}/u.test(plaintext))
        throw new ProxyError('invalid_request', 'A secret must be well-formed text.');
      return sealWith(await currentKey(tenantId), tenantId, context, Buffer.from(plaintext));
    },
    open: async (tenantId, context, sealed) => new Secret((await openBytes(tenantId, context, sealed)).toString()),
    async reseal(tenantId, context, sealed) {
      const current = await currentKey(tenantId);
      if (isFresh(sealed, current.id)) return undefined;
      return sealWith(current, tenantId, context, await openBytes(tenantId, context, sealed));
    },
    doubtKeys() {
      doubts += 1;
    },
  };
}

function rethrow(error: unknown): never {
  throw error instanceof NotAuthentic ? cannotOpen('data key not authentic') : error;
}
