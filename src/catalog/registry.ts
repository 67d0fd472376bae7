// The servers of each tenant as this node knows them: rows of the table and the operator's file, with
// the tool lists found at them. Read once, then kept up to date by notice.
import { startBreathing } from '../shared/breathe.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import { Gate } from '../shared/gate.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { bindingOf } from './binding.ts';
import type { CatalogStore, FindText, KeptCatalog } from './server-store.ts';
import { type DroppedTool, listedTools, type ReadTools, type Tool, ToolReader } from './tool.ts';
import type { InvalidServer, UpstreamServer } from './upstream-server.ts';

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly dropped: readonly DroppedTool[];
  /** Epoch ms. */
  readonly foundAt: number;
  readonly toolsJson: string;
  /** Of the row that it was read from. */
  readonly stamp: string;
}

/** A server as it was read, whether its definition holds or not. */
export interface LoadedServer {
  readonly server: UpstreamServer | InvalidServer;
  readonly source: 'table' | 'file';
  readonly enabled: boolean;
  /** As registered, secrets sealed; masked before anyone sees it. */
  readonly definition: unknown;
}

export interface Registered extends LoadedServer {
  /** By owner: '' for the list shared in the tenant. */
  readonly lists: ReadonlyMap<string, ToolList>;
}

export const isInvalid = (server: UpstreamServer | InvalidServer): server is InvalidServer => 'problems' in server;

export interface TenantServers {
  /** Grows whenever anything of the tenant's servers or lists changes. */
  readonly version: number;
  readonly byName: ReadonlyMap<string, Registered>;
}

/** Port: reads what is registered, from the table and the operator's file. Never throws for one bad row. */
export type LoadServers = (tenantId: TenantId) => Promise<readonly LoadedServer[]>;

export interface RegistryDeps {
  readonly loadServers: LoadServers;
  readonly catalogs: CatalogStore;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Hears of every difference that an agent could notice; `before` is undefined on the first read. */
export type RegistryListener = (tenantId: TenantId, servers: TenantServers, before: TenantServers | undefined) => void;

export interface Registry {
  tenant(tenantId: TenantId): TenantServers | Promise<TenantServers>;
  /** What is known without waiting. */
  known(tenantId: TenantId): TenantServers | undefined;
  readonly find: (tenantId: TenantId, serverId: ServerId) => Promise<UpstreamServer | undefined>;
  /** Reads the tenant again and tells the listeners when something differs. */
  refresh(tenantId: TenantId): Promise<void>;
  /** Keeps a list of tools, each as JSON text, in the database, then here. An equal list only gets a new age. */
  keepList(server: UpstreamServer, owner: string, listed: readonly string[]): Promise<void>;
  onChange(listener: RegistryListener): () => void;
  close(): void;
}

/** Tenants read again at a time: all at once would keep the database from those who wait for an answer. */
const REREAD_AT_ONCE = 4;
const NO_LISTS: ReadonlyMap<string, ToolList> = new Map();

export function createRegistry({ loadServers, catalogs, changes, clock, logger }: RegistryDeps): Registry {
  const tenants = new Map<TenantId, TenantServers>();
  const reads = new SingleFlight<TenantServers>();
  const listeners = new Set<RegistryListener>();
  const wanted = new Map<TenantId, number>();
  let versions = 0;

  const read = async (tenantId: TenantId): Promise<TenantServers> => {
    const asked = wanted.get(tenantId) ?? 0;
    const [servers, stored] = await Promise.all([
      loadServers(tenantId),
      catalogs.list(tenantId, rememberedTexts(tenants.get(tenantId))),
    ]);
    const before = tenants.get(tenantId);
    const byName = new Map<string, Registered>();
    for (const loaded of servers) {
      const { name } = loaded.server;
      byName.set(name, { ...loaded, lists: await listsOf(loaded.server, stored, before?.byName.get(name)) });
    }
    const same = before !== undefined && isSame(before.byName, byName);
    const now = { version: same ? before.version : ++versions, byName };
    tenants.set(tenantId, now);
    if (!same) for (const listener of listeners) listener(tenantId, now, before);
    // Something changed while this was being read: what was read may be older than that.
    if ((wanted.get(tenantId) ?? 0) !== asked) return read(tenantId);
    return now;
  };

  const refresh = async (tenantId: TenantId): Promise<void> => {
    wanted.set(tenantId, (wanted.get(tenantId) ?? 0) + 1);
    await reads.run(tenantId, () => read(tenantId));
  };

  const quietly = (tenantId: TenantId): Promise<void> =>
    refresh(tenantId).catch((error: unknown) =>
      logger.warn({ tenantId, error: describeError(error) }, 'servers not read'),
    );

  const rereads = new Gate(REREAD_AT_ONCE);

  const unsubscribe = changes.subscribe((change) => {
    if (change.kind === 'resync') for (const tenantId of tenants.keys()) void rereads.run(() => quietly(tenantId));
    else if (change.kind === 'servers' || change.kind === 'catalogs' || change.kind === 'tenants')
      void quietly(change.tenantId);
    // What was sealed by a key that is gone can be used no more; a tenant that nobody asked for is read when they do.
    else if (change.kind === 'data_keys' && tenants.has(change.tenantId)) void quietly(change.tenantId);
  });

  const tenant = (tenantId: TenantId): TenantServers | Promise<TenantServers> =>
    tenants.get(tenantId) ?? reads.run(tenantId, () => read(tenantId));

  return {
    tenant,
    known: (tenantId) => tenants.get(tenantId),
    async find(tenantId, serverId) {
      const known = serverIn(await tenant(tenantId), serverId);
      if (known !== undefined) return known;
      // Who names a server has its row: another node may have registered it a moment ago, and its notice is under way.
      await refresh(tenantId);
      return serverIn(await tenant(tenantId), serverId);
    },
    refresh,
    async keepList(server, owner, listed) {
      const toolsJson = `[${listed.join(',')}]`;
      // Joining it was one look at all of it, and writing it to the database is another.
      await startBreathing()(toolsJson.length);
      await catalogs.put({
        tenantId: server.tenantId,
        serverId: server.id,
        owner,
        toolsJson,
        binding: bindingOf(server),
        foundAt: clock.now(),
      });
      await refresh(server.tenantId);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: unsubscribe,
  };
}

function serverIn({ byName }: TenantServers, serverId: ServerId): UpstreamServer | undefined {
  for (const { server } of byName.values()) if (server.id === serverId && !isInvalid(server)) return server;
  return undefined;
}

function rememberedTexts(before: TenantServers | undefined): FindText {
  const byServer = new Map([...(before?.byName.values() ?? [])].map(({ server, lists }) => [server.id, lists]));
  return (serverId, owner, stamp) => {
    const list = byServer.get(serverId)?.get(owner);
    return list?.stamp === stamp ? list.toolsJson : undefined;
  };
}

/** The lists kept for this very server; one found elsewhere, before an edit, is not offered. */
async function listsOf(
  server: UpstreamServer | InvalidServer,
  stored: readonly KeptCatalog[],
  before: Registered | undefined,
): Promise<ReadonlyMap<string, ToolList>> {
  if (isInvalid(server)) return NO_LISTS;
  const mine = stored.filter(({ serverId }) => serverId === server.id);
  if (mine.length === 0) return NO_LISTS;
  const binding = bindingOf(server);
  const lists = new Map<string, ToolList>();
  for (const { owner, toolsJson, foundAt, binding: foundAtBinding, stamp } of mine) {
    if (foundAtBinding !== binding) continue;
    const known = before?.lists.get(owner);
    // Reading a list is the costly part; an unchanged one is kept as it is.
    if (known?.toolsJson === toolsJson) lists.set(owner, known.stamp === stamp ? known : { ...known, foundAt, stamp });
    else lists.set(owner, { ...(await readStored(toolsJson)), foundAt, toolsJson, stamp });
  }
  return lists;
}

/** One that cannot be read offers nothing. */
async function readStored(toolsJson: string): Promise<ReadTools> {
  const breathe = startBreathing();
  const reader = new ToolReader();
  const listed = listedTools(Buffer.from(toolsJson), 0);
  await breathe(toolsJson.length);
  try {
    for (;;) {
      const next = listed.next();
      if (next.done === true) return next.value ? reader.end() : new ToolReader().end();
      const item = next.value.parse();
      // Twice for one that is large: it is read, and then it is looked at.
      const read = breathe(next.value.size);
      if (read !== undefined) await read;
      reader.add(item);
      const added = breathe(next.value.size);
      if (added !== undefined) await added;
    }
  } catch (error) {
    if (error instanceof SyntaxError) return new ToolReader().end();
    throw error;
  }
}

/** What is gated may come from the tenant: it changes without the server's revision. */
const gateOf = ({ server }: Registered): string => JSON.stringify(isInvalid(server) ? null : (server.gated ?? null));

/** Nothing that an agent could notice differs. Ages alone do not count. */
function isSame(a: ReadonlyMap<string, Registered>, b: ReadonlyMap<string, Registered>): boolean {
  if (a.size !== b.size) return false;
  for (const [name, mine] of a) {
    const other = b.get(name);
    if (
      other === undefined ||
      mine.server.id !== other.server.id ||
      mine.server.revision !== other.server.revision ||
      mine.enabled !== other.enabled ||
      // A key that is gone, or back again, makes a server hold no more, or again, without a revision.
      isInvalid(mine.server) !== isInvalid(other.server)
    )
      return false;
    if (gateOf(mine) !== gateOf(other)) return false;
    if (mine.lists.size !== other.lists.size) return false;
    for (const [owner, list] of mine.lists) if (other.lists.get(owner)?.toolsJson !== list.toolsJson) return false;
  }
  return true;
}
