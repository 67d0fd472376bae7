// Hears of list changes at upstreams while some agent of the tenant listens, over one of the live
// connections for each list, and reads the list again: once for a burst of notices. Where none is live
// one is opened, unless it would take a person's key: their connections close when they do not call.
import type { Discovery } from '../catalog/discovery.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Lease } from '../connection/lease.ts';
import type { Pool } from '../connection/pool.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import { ownerKey } from '../credential/credential.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';

export interface WatchLists {
  /** The tenant's first listener came, or its last went. */
  readonly interest: (tenantId: TenantId, isListening: boolean) => void;
  close(): void;
}

export interface WatchListsDeps {
  readonly pool: Pool;
  readonly discovery: Discovery;
  readonly registry: Pick<Registry, 'known'>;
  readonly broker: Pick<CredentialBroker, 'find'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const CHANGED = 'notifications/tools/list_changed';
const BURST_MS = 100;
/** A server whose list never rests must not keep every agent of its tenant, and every node, busy with it. */
const REST_MS = 1_000;
/** How soon a list without an ear gets one again. */
const LOOK_MS = 60_000;

export function createWatchLists({ pool, discovery, registry, broker, clock, logger }: WatchListsDeps): WatchLists {
  const interested = new Set<TenantId>();
  const root = new AbortController();
  /** One ear for each list, by tenant, server and whose list it is. */
  const ears = new Map<string, { lease: Lease; stop: () => void }>();
  /** Servers that announce nothing, with the revision that did not, so that none is opened to hear it. */
  const silent = new Map<ServerId, string>();
  const bursts = new Map<string, Cancel>();
  /** Lists that were read just now: until when, in epoch ms. They outlive their ears, or a server need only hang up. */
  const resting = new Map<string, { readonly until: number; readonly cancel: Cancel }>();
  const watched = new WeakSet<Lease>();

  const renew = ({ server, credential }: Lease, owner: string): void => {
    const principalId = principalOf(credential);
    discovery
      .renew(server, owner, principalId)
      .catch((error: unknown) =>
        logger.debug({ server: server.name, error: describeError(error) }, 'changed list not read'),
      );
  };

  const rest = (key: string): void => {
    resting.get(key)?.cancel();
    const cancel = clock.after(REST_MS, () => resting.delete(key));
    resting.set(key, { until: clock.now() + REST_MS, cancel });
  };

  const hear = (lease: Lease, key: string, owner: string): void => {
    if (bursts.has(key)) return;
    const pauseMs = Math.max(BURST_MS, (resting.get(key)?.until ?? 0) - clock.now());
    bursts.set(
      key,
      clock.after(pauseMs, () => {
        bursts.delete(key);
        rest(key);
        renew(lease, owner);
      }),
    );
  };

  const attach = (lease: Lease): void => {
    const { server, connection } = lease;
    if (!announces(lease)) return;
    // A child is heard at no cost; a stream is opened only when somebody listens.
    if (server.transport.kind === 'http' && !interested.has(server.tenantId)) return;
    const owner = listOwner(lease);
    const key = earKey(server, owner);
    if (ears.has(key)) return;
    const stop = connection.listen((method) => {
      if (method === CHANGED) hear(lease, key, owner);
    });
    ears.set(key, { lease, stop });
    // Once, however often agents come and go while it is open.
    if (watched.has(lease)) return;
    watched.add(lease);
    connection.onClose(() => {
      const ear = ears.get(key);
      if (ear?.lease !== lease) return;
      ear.stop();
      ears.delete(key);
      const next = pool
        .list(server.tenantId)
        .find(
          (other) =>
            other.server.id === server.id &&
            !other.connection.isClosed &&
            !other.isRetired &&
            listOwner(other) === owner,
        );
      if (next !== undefined) attach(next);
    });
  };

  pool.onOpen(attach);

  const open = async (server: UpstreamServer): Promise<void> => {
    const credential = await broker.find(server, undefined);
    if (credential === undefined) return;
    const lease = await pool.acquire(server, credential, root.signal);
    pool.release(lease);
    // The list may have changed while nobody heard.
    if (announces(lease)) hear(lease, earKey(server, ''), '');
    else silent.set(server.id, server.revision);
  };

  const openMissing = (tenantId: TenantId): void => {
    const live = new Set(pool.list(tenantId).map(({ server }) => server.id));
    for (const { server, lists } of registry.known(tenantId)?.byName.values() ?? []) {
      // Without a list it is being asked already, over a connection that is heard as soon as it is open.
      if (
        isInvalid(server) ||
        !server.enabled ||
        !lists.has('') ||
        live.has(server.id) ||
        silent.get(server.id) === server.revision
      )
        continue;
      if (server.transport.kind !== 'http' || server.credential?.owner === 'principal') continue;
      open(server).catch((error: unknown) =>
        logger.debug({ server: server.name, error: describeError(error) }, 'list not listened to'),
      );
    }
  };

  let stopLooking: Cancel | undefined;
  const look = (): void => {
    for (const tenantId of interested) openMissing(tenantId);
  };

  return {
    interest(tenantId, isListening) {
      if (isListening) {
        interested.add(tenantId);
        stopLooking ??= clock.every(LOOK_MS, look);
        for (const lease of pool.list(tenantId)) attach(lease);
        openMissing(tenantId);
        return;
      }
      interested.delete(tenantId);
      if (interested.size === 0) {
        stopLooking?.();
        stopLooking = undefined;
      }
      for (const [key, { lease, stop }] of ears) {
        if (lease.server.tenantId !== tenantId || lease.server.transport.kind !== 'http') continue;
        stop();
        ears.delete(key);
      }
    },
    close() {
      stopLooking?.();
      root.abort(new Error('stopping'));
      for (const { stop } of ears.values()) stop();
      for (const cancel of bursts.values()) cancel();
      for (const { cancel } of resting.values()) cancel();
      ears.clear();
    },
  };
}

const earKey = (server: UpstreamServer, owner: string): string =>
  `${server.tenantId}\u0000${server.id}\u0000${server.revision}\u0000${owner}`;

function announces({ connection }: Lease): boolean {
  const tools = connection.capabilities['tools'];
  return typeof tools === 'object' && tools !== null && (tools as { listChanged?: unknown }).listChanged === true;
}

/** Whose list a change on this connection concerns. */
function listOwner({ server, credential }: Lease): string {
  return server.catalog === 'principal' && credential.kind === 'static' ? ownerKey(credential.owner) : '';
}

function principalOf(credential: Lease['credential']): PrincipalId | undefined {
  return credential.kind === 'static' && credential.owner.kind === 'principal'
    ? credential.owner.principalId
    : undefined;
}
