// Deletes data keys that seal nothing any more. Not at once: a row may be on its way that was sealed a moment before
// the key was replaced, and agents carry states for some minutes. A key has to seal nothing for a whole hour.
import type { TenantId } from '../shared/id.ts';
import type { RotationStore } from './rotation-store.ts';

const UNUSED_MS = 60 * 60_000;

/** Gives how many went. */
export async function retireDataKeys(
  store: Pick<RotationStore, 'listKeys' | 'countSealed' | 'setUnused' | 'removeUnused'>,
  tenantId: TenantId,
  now: number,
): Promise<number> {
  let removed = 0;
  for (const { id, isCurrent, unusedSince } of await store.listKeys(tenantId)) {
    if (isCurrent) continue;
    if ((await store.countSealed(tenantId, id)) > 0) {
      if (unusedSince !== undefined) await store.setUnused(tenantId, id, undefined);
    } else if (unusedSince === undefined) await store.setUnused(tenantId, id, now);
    else if (await store.removeUnused(tenantId, id, now - UNUSED_MS)) removed += 1;
  }
  return removed;
}
