// Asks the guard before each request, also on a socket that is open already. The answer follows from the
// text alone, so the last ones are remembered: on the path of a call this is one look into a map.
import { LRUCache } from 'lru-cache';
import { EgressDeniedError } from '../../shared/errors.ts';
import { checkUrl } from './check-url.ts';
import type { ConnectorDeps } from './connector.ts';

const REMEMBERED = 10_000;

/** Throws EgressDeniedError. */
export type CheckOrigin = (origin: string) => void;

export function createCheckOrigin({ policy, onDenied }: Pick<ConnectorDeps, 'policy' | 'onDenied'>): CheckOrigin {
  // Only what was allowed: our own names, which may become known later, do not change that.
  const allowed = new LRUCache<string, true>({ max: REMEMBERED });
  return (origin) => {
    if (allowed.has(origin)) return;
    try {
      checkUrl(origin, policy);
      allowed.set(origin, true);
    } catch (error) {
      if (error instanceof EgressDeniedError && URL.canParse(origin)) {
        const { hostname, port } = new URL(origin);
        onDenied({ host: hostname, port: Number(port), error });
      }
      throw error;
    }
  };
}
