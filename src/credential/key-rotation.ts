// Brings everything under the newest keys while serving: data keys under the current master key, rows under their
// tenant's current data key. It goes through all tenants at the start, each hour and when master keys change, one
// step after the other; nodes that do so at the same time do each other no harm.
import type { Clock } from '../shared/clock.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { KeyProvider } from './key-provider.ts';
import { countWraps } from './key-report.ts';
import { type ResealDeps, resealTenant } from './reseal.ts';
import { retireDataKeys } from './retire-data-keys.ts';
import { type RewrapDeps, rewrapServiceKeys, rewrapTenant } from './rewrap.ts';
import type { RotationStore } from './rotation-store.ts';

export interface KeyRotation {
  /** One tenant's rows, soon. */
  wake(tenantId: TenantId): void;
  /** All tenants, now; gives when it is done or given up. For tests and for the start. */
  run(): Promise<void>;
  /** Waits for the step it is at. */
  close(): Promise<void>;
}

export interface KeyRotationDeps extends Omit<RewrapDeps, 'store'>, Omit<ResealDeps, 'logger'> {
  readonly store: RotationStore;
  readonly masterKeys: KeyProvider;
  readonly clock: Clock;
  readonly logger: Logger;
}

const ROUND_MS = 60 * 60_000;
/** After a round that could not go on, because the database or the keeper of the master keys is away. */
const AGAIN_MS = 30_000;
const TENANTS_AT_ONCE = 200;

interface Tally {
  rewrapped: number;
  resealed: number;
  removed: number;
  failed: number;
}

export function createKeyRotation(deps: KeyRotationDeps): KeyRotation {
  const { store, masterKeys, clock, logger } = deps;
  const stop = new AbortController();
  const { signal } = stop;
  const wanted = new Set<TenantId>();
  let allWanted = false;
  /** What is of the first form is under the current key too, so the first round looks at every row. */
  let isFirst = true;
  let running: Promise<void> | undefined;

  const add = (tally: Tally, part: Partial<Tally>): void => {
    for (const name of ['rewrapped', 'resealed', 'removed', 'failed'] as const) tally[name] += part[name] ?? 0;
  };

  const tenant = async (tenantId: TenantId, masterKeyId: string, everyRow: boolean, tally: Tally): Promise<void> => {
    signal.throwIfAborted();
    add(tally, await rewrapTenant(deps, tenantId, masterKeyId));
    const keys = await store.listKeys(tenantId);
    const current = keys.find(({ isCurrent }) => isCurrent);
    if (current === undefined || (keys.length === 1 && !everyRow)) return;
    const done = await resealTenant(deps, tenantId, current.id, signal);
    add(tally, done);
    if (done.resealed > 0) logger.info({ tenantId, dataKeyId: current.id, ...done }, 'rows sealed anew');
    add(tally, { removed: await retireDataKeys(store, tenantId, clock.now()) });
  };

  const round = async (tenants: readonly TenantId[] | 'all'): Promise<void> => {
    const master = (await masterKeys.list()).find(({ isCurrent }) => isCurrent);
    if (master === undefined) return;
    const tally: Tally = { rewrapped: 0, resealed: 0, removed: 0, failed: 0 };
    if (tenants !== 'all') {
      for (const tenantId of tenants) await tenant(tenantId, master.id, false, tally);
      return;
    }
    add(tally, await rewrapServiceKeys(deps, master.id));
    for (let after: string | undefined; ; ) {
      const page = await store.listTenants(after, TENANTS_AT_ONCE);
      for (const tenantId of page) await tenant(tenantId, master.id, isFirst, tally);
      after = page.at(-1);
      if (page.length < TENANTS_AT_ONCE) break;
    }
    isFirst = false;
    const elsewhere = await countWraps(deps, undefined);
    elsewhere.delete(master.id);
    tell({ masterKeyId: master.id, ...tally }, tally.failed, elsewhere);
  };

  /** `elsewhere`: what is there now, not what this round did, for operators take old master keys away by this line. */
  const tell = (line: object, failed: number, elsewhere: ReadonlyMap<string, number>): void => {
    const left = elsewhere.size === 0 ? {} : { wrappedElsewhere: Object.fromEntries(elsewhere) };
    if (failed > 0)
      logger.error({ ...line, ...left }, 'not everything is under the current keys; see GET /admin/v1/vault');
    else if (elsewhere.size === 0) logger.info(line, 'every stored key is wrapped by the current master key');
    else {
      // Another node was before us, with an older key, or wraps by one still.
      logger.warn({ ...line, ...left }, 'other master keys still wrap stored keys; they are wrapped anew soon');
      later();
    }
  };
  const later = (): void => {
    cancelAgain();
    cancelAgain = clock.after(AGAIN_MS, () => void wakeAll());
  };

  const work = async (): Promise<void> => {
    while (!signal.aborted && (allWanted || wanted.size > 0)) {
      const tenants = allWanted ? 'all' : [...wanted];
      allWanted = false;
      wanted.clear();
      try {
        await round(tenants);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ error: describeError(error) }, 'the rotation of keys goes on later');
        later();
        return;
      }
    }
  };
  const start = (): Promise<void> => {
    running ??= work().finally(() => {
      running = undefined;
      // Asked for just when the last round ended.
      if (!signal.aborted && (allWanted || wanted.size > 0)) void start();
    });
    return running;
  };
  const wakeAll = (): Promise<void> => {
    allWanted = true;
    return start();
  };
  let cancelAgain = (): void => undefined;
  const cancelRounds = clock.every(ROUND_MS, () => void wakeAll());
  const unsubscribe = masterKeys.onChange(() => void wakeAll());

  return {
    wake(tenantId) {
      wanted.add(tenantId);
      void start();
    },
    run: wakeAll,
    async close() {
      cancelRounds();
      cancelAgain();
      unsubscribe();
      stop.abort(new Error('stopping'));
      await running;
    },
  };
}
