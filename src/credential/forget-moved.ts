// A server that was edited to be somewhere else loses the keys kept for it, for good: edited back, it does
// not get them again, or whoever may edit a server could try out addresses with everybody's keys (T11).
import { bindingOf } from '../catalog/binding.ts';
import { isInvalid, type Registry } from '../catalog/registry.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { CredentialStore } from './credential-store.ts';

export interface ForgetMovedDeps {
  readonly registry: Pick<Registry, 'onChange'>;
  readonly credentials: Pick<CredentialStore, 'removeOthers'>;
  readonly logger: Logger;
}

/** Gives the way to stop. Every node does it; the second finds nothing. */
export function forgetMoved({ registry, credentials, logger }: ForgetMovedDeps): () => void {
  return registry.onChange((tenantId, now, before) => {
    for (const { server: was } of before?.byName.values() ?? []) {
      const is = now.byName.get(was.name)?.server;
      if (is === undefined || isInvalid(is) || isInvalid(was) || is.id !== was.id) continue;
      if (bindingOf(is) === bindingOf(was)) continue;
      credentials
        .removeOthers(tenantId, is.id, bindingOf(is))
        .catch((error: unknown) =>
          logger.error(
            { tenantId, server: is.name, error: describeError(error) },
            'keys of a moved server not removed',
          ),
        );
    }
  });
}
