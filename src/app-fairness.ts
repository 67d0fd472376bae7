// The part of the parts list that keeps one tenant, one person or one address from taking all there is.
import type { IncomingMessage } from 'node:http';
import { UnprovenSockets } from './agent/unproven-sockets.ts';
import type { AppOptions } from './app-options.ts';
import type { Tenant, TenantStore } from './identity/tenant-store.ts';
import { type ClientAddress, createClientAddress } from './limits/client-address.ts';
import { createLimitsMemory, type LimitsOf } from './limits/limits-of.ts';
import { createShares, type Shares } from './limits/shares.ts';
import { createStrangers, type Strangers } from './limits/strangers.ts';
import type { TenantLimits } from './limits/tenant-limits.ts';
import type { ChangeFeed } from './shared/changes.ts';
import type { TenantId } from './shared/id.ts';
import type { Lifecycle } from './shared/lifecycle.ts';

const MAX_WAITING_CALLS = 2_000;
const MAX_SESSIONS = 20_000;
const MAX_STREAMS = 20_000;

export interface Fairness {
  readonly limitsOf: LimitsOf;
  readonly shares: Shares;
  readonly strangers: Strangers;
  readonly clients: ClientAddress;
  /** What every door needs that counts strangers by address. */
  readonly counted: { readonly strangers: Strangers; readonly clients: ClientAddress };
  readonly sockets: UnprovenSockets;
  /** Of everything that reads a tenant before it serves it, so that its limits are known by then. */
  readonly findTenant: (id: TenantId) => Promise<Tenant | undefined>;
  readonly onKnown: (request: IncomingMessage) => void;
}

type Options = Pick<AppOptions, 'http' | 'limits' | 'clock' | 'logger'>;

export function createFairness(
  { http, limits, clock, logger }: Options,
  tenants: Pick<TenantStore, 'find'>,
  changes: ChangeFeed,
  life: Lifecycle,
): Fairness {
  let hasWarned = false;
  const clients = createClientAddress(http.trustProxy, () => {
    if (hasWarned) return;
    hasWarned = true;
    logger.warn({}, 'X-Forwarded-For is ignored: KEYBEARER_TRUST_PROXY does not name where it came from');
  });
  const strangers = createStrangers(clock, logger);
  const sockets = new UnprovenSockets(clients);
  const memory = createLimitsMemory({
    findTenant: (id) => tenants.find(id),
    defaults: defaultsOf(limits),
    changes,
    logger,
  });
  life.onClose('limits', () => memory.close());
  return {
    limitsOf: memory.of,
    shares: createShares(memory.of, clock),
    strangers,
    clients,
    counted: { strangers, clients },
    sockets,
    findTenant: (id) => memory.find(id),
    onKnown: ({ socket }) => sockets.proved(socket),
  };
}

const defaultsOf = (limits: AppOptions['limits']): TenantLimits => ({
  requestsPerSecond: limits.requestsPerSecondPerTenant,
  requestsPerSecondPerPrincipal: limits.requestsPerSecondPerPrincipal,
  maxConnections: limits.maxConnectionsPerTenant,
  maxChildren: limits.maxCommandsPerTenant,
  maxWaitingCalls: MAX_WAITING_CALLS,
  maxSessions: MAX_SESSIONS,
  maxStreams: MAX_STREAMS,
});
