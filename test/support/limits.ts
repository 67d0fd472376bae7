// Limits of tenants for tests: what every tenant has unless the test says otherwise, and no limit for strangers.
import type { Strangers } from '../../src/limits/strangers.ts';
import type { TenantLimits } from '../../src/limits/tenant-limits.ts';

export const someLimits = (over: Partial<TenantLimits> = {}): TenantLimits => ({
  requestsPerSecond: undefined,
  requestsPerSecondPerPrincipal: undefined,
  maxConnections: 2_000,
  maxChildren: 200,
  maxWaitingCalls: 2_000,
  maxSessions: 20_000,
  maxStreams: 20_000,
  ...over,
});

export const anyNumber: Strangers = {
  count: () => undefined,
  forgive: () => undefined,
  countPage: () => undefined,
  countDeparture: () => undefined,
};
