// What a tenant has registered, in memory: rows that a test may edit, lists that were found, notices.
import type { DefinitionInput } from '../../src/catalog/definition.ts';
import { parseDefinition } from '../../src/catalog/definition.ts';
import { createRegistry, type LoadedServer, type Registry } from '../../src/catalog/registry.ts';
import type { CatalogStore, FindText, KeptCatalog, StoredCatalog } from '../../src/catalog/server-store.ts';
import { writtenTool } from '../../src/catalog/tool.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { callerKey } from '../../src/identity/caller.ts';
import type { PrincipalId, ServerId, TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';

export const ACME = 'acme' as TenantId;
export const ANNA = 'anna' as PrincipalId;
export const BEN = 'ben' as PrincipalId;

export const ownerKeyOf = (principalId: PrincipalId): string => `p:${principalId}`;

export function aCaller(principalId: PrincipalId = ANNA, tenantId: TenantId = ACME): Caller {
  return { tenantId, principalId, agentId: 'k1', scopes: new Set(), key: callerKey(tenantId, principalId) };
}

export class StoredCatalogs implements CatalogStore {
  rows: StoredCatalog[] = [];
  puts = 0;
  /** Texts that were read because they were not remembered. */
  reads = 0;
  readonly #stamps = new WeakMap<StoredCatalog, string>();
  #lastStamp = 0;

  list(tenantId: TenantId, known: FindText): Promise<readonly KeptCatalog[]> {
    const mine = this.rows.filter((row) => row.tenantId === tenantId);
    return Promise.resolve(mine.map((row) => this.#read(row, known)));
  }

  #read(row: StoredCatalog, known: FindText): KeptCatalog {
    const stamp = this.#stamps.get(row) ?? String(++this.#lastStamp);
    this.#stamps.set(row, stamp);
    const remembered = known(row.serverId, row.owner, stamp);
    if (remembered === undefined) this.reads++;
    return { ...row, toolsJson: remembered ?? row.toolsJson, stamp };
  }

  put(catalog: StoredCatalog): Promise<void> {
    this.puts++;
    this.rows = this.rows.filter(
      (row) => row.serverId !== catalog.serverId || row.owner !== catalog.owner || row.tenantId !== catalog.tenantId,
    );
    this.rows.push(catalog);
    return Promise.resolve();
  }

  remove(tenantId: TenantId, serverId: ServerId, owner: string): Promise<void> {
    this.rows = this.rows.filter(
      (row) => row.tenantId !== tenantId || row.serverId !== serverId || row.owner !== owner,
    );
    return Promise.resolve();
  }
}

export class ATenant {
  readonly clock = new FakeClock();
  readonly changes = new AChangeFeed();
  readonly catalogs = new StoredCatalogs();
  readonly registry: Registry;
  readonly lines: string[] = [];
  readonly logger = createLogger('debug', { write: (line) => void this.lines.push(line) });
  /** Definition by name. */
  readonly definitions = new Map<string, unknown>();
  readonly #revisions = new Map<string, number>();
  loads = 0;
  /** As the tenant's own setting, which comes without a new revision. */
  gated: UpstreamServer['gated'];
  /** Awaited by each load, when it is set. */
  gate: Promise<void> | undefined;

  constructor() {
    this.registry = createRegistry({
      loadServers: (tenantId) => this.#load(tenantId),
      catalogs: this.catalogs,
      changes: this.changes,
      clock: this.clock,
      logger: this.logger,
    });
  }

  /** Registers or edits; nobody hears of it before `refresh` or a notice. */
  define(name: string, definition: unknown = {}): void {
    this.definitions.set(name, definition);
    this.#revisions.set(name, (this.#revisions.get(name) ?? 0) + 1);
  }

  async server(name: string): Promise<UpstreamServer> {
    const registered = (await this.registry.tenant(ACME)).byName.get(name)?.server;
    if (registered === undefined || 'problems' in registered) throw new Error(`no server ${name}`);
    return registered;
  }

  refresh(): Promise<void> {
    return this.registry.refresh(ACME);
  }

  async #load(tenantId: TenantId): Promise<readonly LoadedServer[]> {
    this.loads++;
    const all =
      tenantId === ACME ? [...this.definitions].map(([name, definition]) => this.#loaded(name, definition)) : [];
    await this.gate;
    return all;
  }

  #loaded(name: string, definition: unknown): LoadedServer {
    const input: DefinitionInput = {
      tenantId: ACME,
      id: `id-of-${name}` as ServerId,
      name,
      revision: String(this.#revisions.get(name)),
      enabled: true,
      source: 'table',
      definition: { url: `https://${name}.test/mcp`, ...(definition as object) },
    };
    const result = parseDefinition(input);
    const { tenantId, id, revision } = input;
    const server = result.ok
      ? { ...result.server, gated: result.server.gated ?? this.gated }
      : { tenantId, id, name, revision, problems: result.problems };
    return { server, source: 'table', enabled: result.ok && result.server.enabled, definition };
  }
}

export const aTool = (name: string, rest: object = {}): object => ({ name, inputSchema: { type: 'object' }, ...rest });

/** Tools as a source gives them. */
export const texts = (listed: readonly unknown[]): readonly string[] => listed.map(writtenTool);

/** Lets everything that is ready run. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise(setImmediate);
}
