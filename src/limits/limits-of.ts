// The limits of every tenant that somebody asked for, at hand without a query, and read again when they change.
import { LRUCache } from 'lru-cache';
import type { ChangeFeed } from '../shared/changes.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { readLimits, type TenantLimits } from './tenant-limits.ts';

/** The defaults for a tenant that is not known yet. */
export type LimitsOf = (tenantId: TenantId) => TenantLimits;

export interface LimitsMemory<Tenant extends LimitedTenant> {
  readonly of: LimitsOf;
  /** Reads the tenant, and knows its limits from then on: for whoever reads it before its first request. */
  find(id: TenantId): Promise<Tenant | undefined>;
  close(): void;
}

export interface LimitedTenant {
  readonly id: TenantId;
  readonly limits: Readonly<Record<string, unknown>>;
}

export interface LimitsMemoryDeps<Tenant> {
  readonly findTenant: (id: TenantId) => Promise<Tenant | undefined>;
  readonly defaults: TenantLimits;
  readonly changes: ChangeFeed;
  readonly logger: Logger;
}

/** More than have callers in the memory of a node: who drops out has the defaults until it is read again. */
const MAX_TENANTS = 100_000;

export function createLimitsMemory<Tenant extends LimitedTenant>({
  findTenant,
  defaults,
  changes,
  logger,
}: LimitsMemoryDeps<Tenant>): LimitsMemory<Tenant> {
  const known = new LRUCache<TenantId, TenantLimits>({ max: MAX_TENANTS });
  /** By tenant, the read begun last: what an earlier one brings may be older. */
  const reading = new Map<TenantId, symbol>();

  const find = async (id: TenantId): Promise<Tenant | undefined> => {
    const mine = Symbol(id);
    reading.set(id, mine);
    try {
      const tenant = await findTenant(id);
      if (reading.get(id) !== mine) return tenant;
      if (tenant === undefined) known.delete(id);
      else known.set(id, readLimits(tenant.limits, defaults));
      return tenant;
    } finally {
      if (reading.get(id) === mine) reading.delete(id);
    }
  };

  /** One after the other: thousands of tenants must not take all of the database's connections at once. */
  const readAgain = async (ids: readonly TenantId[]): Promise<void> => {
    for (const id of ids) {
      await find(id).catch((error: unknown) =>
        // What is known goes on to hold; the next resync reads it again.
        logger.warn({ tenantId: id, error: describeError(error) }, 'limits of a tenant not read'),
      );
    }
  };

  const wanted = new Set<TenantId>();
  let aside = Promise.resolve();
  /** For whoever dropped out: soon, once, and after those who wait already. */
  const readAside = (id: TenantId): TenantLimits => {
    if (wanted.has(id)) return defaults;
    wanted.add(id);
    aside = aside.then(() => readAgain([id])).finally(() => wanted.delete(id));
    return defaults;
  };

  const unsubscribe = changes.subscribe((change) => {
    if (change.kind === 'tenants' && known.has(change.tenantId)) void readAgain([change.tenantId]);
    if (change.kind === 'resync') void readAgain([...known.keys()]);
  });

  return { of: (tenantId) => known.get(tenantId) ?? readAside(tenantId), find, close: unsubscribe };
}
