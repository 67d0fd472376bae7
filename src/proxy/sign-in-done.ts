// Waits, for nobody's call, until the person has done what an error asked of them.
import { isInvalid, type Registry } from '../catalog/registry.ts';
import type { Clock } from '../shared/clock.ts';
import type { SignInDone } from './operations.ts';
import type { SignInWaits } from './wait-for-sign-in.ts';

export interface SignInDoneDeps {
  readonly registry: Pick<Registry, 'tenant'>;
  /** Not those of calls, which must find room. */
  readonly waits: Pick<SignInWaits, 'wait'>;
  readonly clock: Clock;
}

export function createSignInDone({ registry, waits, clock }: SignInDoneDeps): SignInDone {
  return async (caller, asked, signal) => {
    const { byName } = await registry.tenant(caller.tenantId);
    const server = byName.get(asked.server)?.server;
    if (server === undefined || isInvalid(server)) return false;
    const forMs = Math.max(0, asked.expiresAt - clock.now());
    return (await waits.wait({ caller, server, forMs }, signal)) === 'signed_in';
  };
}
