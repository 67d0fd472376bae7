// Port: the installation's own signing keys, sealed by the master key. Filled by store/.
import type { JsonObject } from '../wire/reply.ts';

export interface StoredServiceKey {
  readonly id: string;
  readonly publicJwk: JsonObject;
  /** PKCS #8, sealed. */
  readonly sealed: Buffer;
  readonly masterKeyId: string;
}

export interface ServiceKeyStore {
  /** Newest first. */
  list(): Promise<readonly StoredServiceKey[]>;
  /** Keeps it unless there is one already; gives all that are there then, newest first. */
  ensure(key: StoredServiceKey, now: number): Promise<readonly StoredServiceKey[]>;
}
