// What one tenant may use of one node. The operator's defaults hold, and for single tenants what their
// `limits` say instead.

/** Each counts on each node by itself. */
export interface TenantLimits {
  /** Undefined: not counted. */
  readonly requestsPerSecond: number | undefined;
  readonly requestsPerSecondPerPrincipal: number | undefined;
  readonly maxConnections: number;
  /** Processes of servers that are commands. */
  readonly maxChildren: number;
  /** Calls that wait for a place at a server; and once more as many that wait for somebody to sign in. */
  readonly maxWaitingCalls: number;
  readonly maxSessions: number;
  /** Streams on which agents listen. */
  readonly maxStreams: number;
}

export type LimitName = keyof TenantLimits;

/** What each may be at least and at most, in whole numbers. */
export const LIMIT_RANGES: Readonly<Record<LimitName, readonly [min: number, max: number]>> = {
  requestsPerSecond: [1, 100_000],
  requestsPerSecondPerPrincipal: [1, 100_000],
  maxConnections: [1, 1_000_000],
  maxChildren: [0, 100_000],
  maxWaitingCalls: [0, 100_000],
  maxSessions: [1, 1_000_000],
  maxStreams: [0, 1_000_000],
};

export const LIMIT_NAMES = Object.keys(LIMIT_RANGES) as readonly LimitName[];

/** `stored` as it stands in the tenant's row, which people also write by hand: what does not hold counts as not said. */
export function readLimits(stored: Readonly<Record<string, unknown>>, defaults: TenantLimits): TenantLimits {
  const said = LIMIT_NAMES.filter((name) => holds(name, stored[name])).map((name) => [name, stored[name]] as const);
  return { ...defaults, ...Object.fromEntries(said) };
}

function holds(name: LimitName, value: unknown): value is number {
  const [min, max] = LIMIT_RANGES[name];
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
