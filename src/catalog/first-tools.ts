// Reads every tenant's servers once at the start, so that those which need no person are asked for
// their tools before the first agent comes.
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Registry } from './registry.ts';

/** Never rejects; a tenant that cannot be read now is read when somebody asks for it. */
export async function findFirstTools(
  tenantIds: Promise<readonly TenantId[]>,
  registry: Registry,
  logger: Logger,
): Promise<void> {
  try {
    for (const tenantId of await tenantIds) await registry.tenant(tenantId);
  } catch (error) {
    logger.warn({ error: describeError(error) }, 'servers not read at the start');
  }
}
