// Credentials as this node remembers them, opened. Memory is dropped by notice and compared with the
// database each minute, so the warm path makes no query.
import { LRUCache } from 'lru-cache';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { type CredentialStore, credentialKey, type StoredCredential } from './credential-store.ts';
import { type Grant, readGrant } from './grant.ts';
import { credentialContext } from './seal-context.ts';
import type { Vault } from './vault.ts';
import { isShredded } from './vault-errors.ts';

/** One version of a credential, opened. */
export interface Opened {
  readonly version: string;
  readonly binding: string;
  readonly content:
    | { readonly kind: 'secret'; readonly secret: Secret }
    | { readonly kind: 'grant'; readonly grant: Grant };
}

export interface Kept {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  readonly owner: string;
  /** Undefined: the database holds none. Remembered too, so that asking again costs nothing. */
  readonly opened: Opened | undefined;
}

export interface KeptCredentials {
  /** From memory. */
  get(server: UpstreamServer, owner: string): Kept | undefined;
  /** From memory, or one read for all who ask. */
  find(server: UpstreamServer, owner: string): Promise<Kept>;
  /** From the database. */
  load(server: UpstreamServer, owner: string): Promise<Kept>;
  /** A row that was read elsewhere. */
  open(row: StoredCredential): Promise<Opened>;
  /** Stops listening for changes. */
  close(): void;
}

export interface KeptCredentialsDeps {
  readonly credentials: Pick<CredentialStore, 'find' | 'versions'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly changes: ChangeFeed;
  readonly logger: Logger;
}

const REMEMBERED = 100_000;
const COMPARED_AT_ONCE = 1_000;

export function createKeptCredentials({ credentials, vault, changes, logger }: KeptCredentialsDeps): KeptCredentials {
  const kept = new LRUCache<string, Kept>({ max: REMEMBERED });
  const loads = new SingleFlight<Kept>();
  // A change heard while a row is being read makes what was read doubtful; it is used but not kept.
  let epoch = 0;

  /** Its person can only give it anew, so it counts as none. */
  const openUnlessLost = async (row: StoredCredential): Promise<Opened | undefined> => {
    try {
      return await open(vault, row);
    } catch (error) {
      if (!isShredded(error)) throw error;
      const { tenantId, serverId } = row;
      logger.warn({ tenantId, serverId }, 'a credential is lost: the key that sealed it was deleted');
      return undefined;
    }
  };

  const load = async (server: UpstreamServer, owner: string): Promise<Kept> => {
    const before = epoch;
    const row = await credentials.find(server.tenantId, server.id, owner);
    const opened = row === undefined ? undefined : await openUnlessLost(row);
    const entry = { tenantId: server.tenantId, serverId: server.id, owner, opened };
    if (before === epoch) kept.set(credentialKey(entry), entry);
    return entry;
  };

  const compareAll = async (): Promise<void> => {
    // No question goes beyond one tenant.
    for (const [tenantId, entries] of byTenant(kept.entries())) {
      for (let i = 0; i < entries.length; i += COMPARED_AT_ONCE) {
        const part = entries.slice(i, i + COMPARED_AT_ONCE);
        const current = await credentials.versions(
          tenantId,
          part.map(([, entry]) => entry),
        );
        for (const [key, entry] of part) {
          if (current.get(key) !== entry.opened?.version && kept.peek(key) === entry) kept.delete(key);
        }
      }
    }
  };

  const unsubscribe = changes.subscribe((change) => {
    if (change.kind === 'credentials') {
      epoch++;
      kept.delete(
        credentialKey({ tenantId: change.tenantId, serverId: change.serverId as ServerId, owner: change.owner }),
      );
    } else if (change.kind === 'resync') {
      epoch++;
      compareAll().catch((error: unknown) => logger.warn({ error: describeError(error) }, 'credentials not compared'));
    }
  });

  const keyOf = ({ tenantId, id }: UpstreamServer, owner: string): string =>
    credentialKey({ tenantId, serverId: id, owner });

  return {
    get: (server, owner) => kept.get(keyOf(server, owner)),
    async find(server, owner) {
      const key = keyOf(server, owner);
      // Whoever asks after a change must not be given what was read before it.
      return kept.get(key) ?? (await loads.run(`${epoch}\u0000${key}`, () => load(server, owner)));
    },
    load,
    open: (row) => open(vault, row),
    close: unsubscribe,
  };
}

function byTenant(entries: Iterable<readonly [string, Kept]>): ReadonlyMap<TenantId, (readonly [string, Kept])[]> {
  const groups = new Map<TenantId, (readonly [string, Kept])[]>();
  for (const entry of entries) {
    const [, { tenantId }] = entry;
    const group = groups.get(tenantId);
    if (group === undefined) groups.set(tenantId, [entry]);
    else group.push(entry);
  }
  return groups;
}

async function open(vault: Pick<Vault, 'open'>, row: StoredCredential): Promise<Opened> {
  const { tenantId, serverId, owner, kind, version, binding, sealed } = row;
  const text = await vault.open(tenantId, credentialContext(kind, serverId, owner, binding), sealed);
  const content = kind === 'secret' ? { kind, secret: text } : { kind, grant: readGrant(text.reveal()) };
  return { version, binding, content };
}
