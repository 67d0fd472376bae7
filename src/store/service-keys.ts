// The service_keys table: the key pairs that we sign with as ourselves, the private half sealed.
import type { ServiceKeyStore, StoredServiceKey } from '../credential/service-key-store.ts';
import { isJsonObject } from '../wire/reply.ts';
import type { Database } from './database.ts';

interface KeyRow {
  readonly id: string;
  readonly public_jwk: unknown;
  readonly sealed: Buffer;
  readonly master_key_id: string;
}

const SERVICE = { kind: 'service' } as const;

const LIST = 'SELECT id, public_jwk, sealed, master_key_id FROM service_keys ORDER BY created_at DESC, id';

export function createServiceKeyStore(database: Database): ServiceKeyStore {
  return {
    list: async () => (await database.within(SERVICE).query<KeyRow>(LIST)).map(toKey),
    ensure: ({ id, publicJwk, sealed, masterKeyId }, now) =>
      database.within(SERVICE).transaction(async (transaction) => {
        // Nodes that boot together must end up with one key.
        await transaction.query('LOCK TABLE service_keys IN SHARE ROW EXCLUSIVE MODE');
        await transaction.query(
          `INSERT INTO service_keys (id, public_jwk, sealed, master_key_id, created_at)
           SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM service_keys)`,
          [id, JSON.stringify(publicJwk), sealed, masterKeyId, new Date(now)],
        );
        return (await transaction.query<KeyRow>(LIST)).map(toKey);
      }),
  };
}

function toKey({ id, public_jwk, sealed, master_key_id }: KeyRow): StoredServiceKey {
  return { id, publicJwk: isJsonObject(public_jwk) ? public_jwk : {}, sealed, masterKeyId: master_key_id };
}
