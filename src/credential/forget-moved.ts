// A server that was edited to be somewhere else loses the keys kept for it, for good: edited back, it does
// not get them again, or whoever may edit a server could try out addresses with everybody's keys (T11).
import { bindingOf } from '../catalog/binding.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { CredentialStore } from './credential-store.ts';
import type { ScopeStore } from './scope-store.ts';

export interface ForgetMovedDeps {
  readonly registry: Pick<Registry, 'onChange'>;
  readonly credentials: Pick<CredentialStore, 'removeOthers'>;
  readonly scopes: Pick<ScopeStore, 'forget'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Gives the way to stop. Every node does it; the second finds nothing. */
export function forgetMoved({ registry, credentials, scopes, clock, logger }: ForgetMovedDeps): () => void {
  const forget = async (server: UpstreamServer, isMoved: boolean): Promise<void> => {
    const { tenantId, id } = server;
    try {
      await credentials.removeOthers(tenantId, id, bindingOf(server), clock.now());
      // What its tools needed was said by whoever was there before.
      if (isMoved) await scopes.forget(tenantId, id);
    } catch (error) {
      logger.error(
        { tenantId, server: server.name, error: describeError(error) },
        'keys of a moved server not removed',
      );
    }
  };
  return registry.onChange((_tenantId, now, before) => {
    for (const { server: is } of now.byName.values()) {
      if (isInvalid(is) || is.credential === undefined) continue;
      const was = before?.byName.get(is.name)?.server;
      // Nobody saw where it was before this node began, or while it did not hold. Files may differ between nodes.
      if (was === undefined || isInvalid(was)) {
        if (is.source === 'table') void forget(is, false);
      } else if (was.id === is.id && bindingOf(is) !== bindingOf(was)) void forget(is, true);
    }
  });
}
