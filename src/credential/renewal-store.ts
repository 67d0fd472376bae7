// Port: who renews a grant and how that went, shared by all nodes. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';

export interface GrantKey {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  /** As `ownerKey` gives it. */
  readonly owner: string;
}

/** About one version of a grant; void for every other. */
export interface RenewalState {
  /** Of the grant, or of the definition where none was there yet; undefined: of nothing. */
  readonly version: string | undefined;
  /** The authorization server said that it is over; only a new sign-in helps. */
  readonly spent: boolean;
  /** Refused in words that may or may not mean the grant, so often. */
  readonly refusals: number;
  /** Tries in a row without a usable answer. */
  readonly failures: number;
  /** Epoch milliseconds; not to be tried before. */
  readonly retryAt: number | undefined;
}

export interface Lease {
  readonly state: RenewalState;
  /** Epoch milliseconds of the last renewal that worked, of whatever version. */
  readonly renewedAt: number | undefined;
}

export interface RenewalStore {
  /**
   * One statement; undefined while another holder's lease lasts. Lengths are the holder's, but time passes by the
   * store's clock, which is one for all nodes: one that is fast must not take what another still holds.
   */
  acquire(key: GrantKey, holder: string, leaseMs: number): Promise<Lease | undefined>;
  /** Writes how it went and gives the lease back, unless it has passed to another holder meanwhile. */
  release(
    key: GrantKey,
    holder: string,
    result: RenewalState & { readonly renewedAt: number | undefined },
  ): Promise<void>;
  /** Those of these versions that are known to be over, by `credentialKey`. */
  spentAmong(
    tenantId: TenantId,
    versions: readonly (Omit<GrantKey, 'tenantId'> & { readonly version: string })[],
  ): Promise<ReadonlySet<string>>;
}
