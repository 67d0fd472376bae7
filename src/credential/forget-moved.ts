// A server that was edited to be somewhere else loses the keys kept for it, for good: edited back, it does
// not get them again, or whoever may edit a server could try out addresses with everybody's keys (T11).
import { bindingOf } from '../catalog/binding.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { CredentialStore } from './credential-store.ts';
import type { ScopeStore } from './scope-store.ts';

export interface ForgetMovedDeps {
  readonly registry: Pick<Registry, 'onChange'>;
  readonly credentials: Pick<CredentialStore, 'removeOthers'>;
  readonly scopes: Pick<ScopeStore, 'forget'>;
  readonly logger: Logger;
}

/** Gives the way to stop. Every node does it; the second finds nothing. */
export function forgetMoved({ registry, credentials, scopes, logger }: ForgetMovedDeps): () => void {
  const forget = async (server: UpstreamServer): Promise<void> => {
    const { tenantId, id } = server;
    try {
      await credentials.removeOthers(tenantId, id, bindingOf(server));
      // What its tools needed was said by whoever was there before.
      await scopes.forget(tenantId, id);
    } catch (error) {
      logger.error(
        { tenantId, server: server.name, error: describeError(error) },
        'keys of a moved server not removed',
      );
    }
  };
  return registry.onChange((_tenantId, now, before) => {
    for (const { server: was } of before?.byName.values() ?? []) {
      const is = now.byName.get(was.name)?.server;
      if (is === undefined || isInvalid(is) || is.id !== was.id) continue;
      // Of one that did not hold nobody knows where it was.
      if (isInvalid(was) || bindingOf(is) !== bindingOf(was)) void forget(is);
    }
  });
}
