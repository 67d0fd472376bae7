// What hangs on which key, for the operator, and for the start: a master key that opens nothing is told then.

import { OwnError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { KeyProvider } from './key-provider.ts';
import type { RotationStore } from './rotation-store.ts';
import type { ServiceKeyStore } from './service-key-store.ts';

export interface MasterKeyReport {
  readonly id: string;
  readonly isCurrent: boolean;
  /** Whether it is given to this node. What hangs on one that is not can be opened by nobody here. */
  readonly isKnown: boolean;
  /** Stored keys that it wraps: the tenants' data keys, and the installation's own. */
  readonly wraps: number;
}

export interface DataKeyReport {
  readonly id: string;
  readonly isCurrent: boolean;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Rows that hold something sealed by it. */
  readonly seals: number;
}

export interface KeyReportDeps {
  readonly store: Pick<RotationStore, 'listTenants' | 'listKeys' | 'countSealed'>;
  readonly serviceKeys: Pick<ServiceKeyStore, 'list'>;
  readonly masterKeys: Pick<KeyProvider, 'list'>;
}

const TENANTS_AT_ONCE = 200;
/** At the start a look at some of them is enough; the rotation goes through all. */
const TENANTS_LOOKED_AT = 100;

/** Current first, then by id. */
export async function reportMasterKeys(deps: KeyReportDeps): Promise<readonly MasterKeyReport[]> {
  const known = await deps.masterKeys.list();
  const wraps = await countWraps(deps, undefined);
  const ids = new Set([...known.map(({ id }) => id), ...[...wraps.keys()].sort()]);
  return [...ids].map((id) => {
    const given = known.find((key) => key.id === id);
    return { id, isCurrent: given?.isCurrent === true, isKnown: given !== undefined, wraps: wraps.get(id) ?? 0 };
  });
}

/** Oldest first. */
export async function reportDataKeys(
  { store }: Pick<KeyReportDeps, 'store'>,
  tenantId: TenantId,
): Promise<readonly DataKeyReport[]> {
  const reports: DataKeyReport[] = [];
  for (const { id, isCurrent, createdAt } of await store.listKeys(tenantId))
    reports.push({ id, isCurrent, createdAt, seals: await store.countSealed(tenantId, id) });
  return reports;
}

/** Throws an error that says what to do when no given master key opens anything of what is stored. */
export async function requireMasterKey(deps: KeyReportDeps, logger: Logger): Promise<void> {
  const wraps = await countWraps(deps, TENANTS_LOOKED_AT);
  if (wraps.size === 0) return;
  let known: readonly string[];
  try {
    known = (await deps.masterKeys.list()).map(({ id }) => id);
  } catch (error) {
    // It may come back; until then what needs it is refused.
    logger.error({ error: describeError(error) }, 'the keeper of the master keys does not answer');
    return;
  }
  if (known.some((id) => wraps.has(id))) return;
  throw new OwnError(
    `no stored key can be opened with the master keys that are given (${known.join(', ')}): they are wrapped by ${[...wraps.keys()].join(', ')}. ` +
      'Give the one of before as well, in KEYBEARER_MASTER_KEY=new,old or as a second line of master.key in the data directory; or use the database that belongs to this key',
  );
}

/** How many stored keys each master key wraps, by its id; of the first `most` tenants only, where that is given. */
export async function countWraps(
  { store, serviceKeys }: Pick<KeyReportDeps, 'store' | 'serviceKeys'>,
  most: number | undefined,
): Promise<Map<string, number>> {
  const wraps = new Map<string, number>();
  const count = ({ masterKeyId }: { readonly masterKeyId: string }): void => {
    wraps.set(masterKeyId, (wraps.get(masterKeyId) ?? 0) + 1);
  };
  (await serviceKeys.list()).forEach(count);
  for (let after: string | undefined; ; ) {
    const page = await store.listTenants(after, most ?? TENANTS_AT_ONCE);
    for (const tenantId of page) (await store.listKeys(tenantId)).forEach(count);
    after = page.at(-1);
    if (most !== undefined || page.length < TENANTS_AT_ONCE) return wraps;
  }
}
