// Port: registered servers and the tool lists found at them. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';

export interface ServerRow {
  readonly tenantId: TenantId;
  readonly id: ServerId;
  readonly name: string;
  /** Whatever is in the table, also what somebody wrote by hand; literal secrets may be sealed. */
  readonly definition: unknown;
  readonly enabled: boolean;
  readonly revision: string;
}

export interface ServerStore {
  /** All servers of one tenant, by name. */
  list(tenantId: TenantId): Promise<readonly ServerRow[]>;
  /** Every tenant that has a row in `tenants`. */
  listTenantIds(): Promise<readonly TenantId[]>;
  /** Creates or replaces; gives the stored row with its new revision. */
  put(tenantId: TenantId, name: string, definition: unknown, enabled: boolean): Promise<ServerRow>;
  /** Writes another definition only over the revision that was read; false when somebody was quicker. */
  replaceDefinition(row: ServerRow, definition: unknown): Promise<boolean>;
  /** False when there was none. Tool lists and credentials of the server go with it. */
  remove(tenantId: TenantId, name: string): Promise<boolean>;
}

/** A tool list as last found. `owner` is '' when shared in the tenant, else the owner key of one principal. */
export interface StoredCatalog {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  readonly owner: string;
  /** The upstream's tool objects as a JSON array, opaque text. */
  readonly toolsJson: string;
  /** Where it was found (origin or command); a list found elsewhere is not offered. */
  readonly binding: string;
  /** Epoch milliseconds. */
  readonly foundAt: number;
}

/** One as it was read. */
export interface KeptCatalog extends StoredCatalog {
  /** Another one after each time that it is written. */
  readonly stamp: string;
}

/** The text that is remembered of a list that was not written since. */
export type FindText = (serverId: ServerId, owner: string, stamp: string) => string | undefined;

export interface CatalogStore {
  /** All of a tenant; only texts that `known` does not give are read, for there may be megabytes of each. */
  list(tenantId: TenantId, known: FindText): Promise<readonly KeptCatalog[]>;
  put(catalog: StoredCatalog): Promise<void>;
  remove(tenantId: TenantId, serverId: ServerId, owner: string): Promise<void>;
}
