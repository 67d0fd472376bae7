// Port: scopes that a person's calls were found to lack, by tool. Filled by store/.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { GrantKey } from './renewal-store.ts';

/** A server may say something else with each refusal; beyond these its words are for nobody. */
export const MAX_TOOL_SCOPES = 50;
export const MAX_TOOL_SCOPE_BYTES = 4 * 1024;

export interface ScopeStore {
  /** Adds to what is known of the tool, as far as there is room: what was found first stays. */
  add(key: GrantKey, tool: string, scopes: readonly string[], now: number): Promise<void>;
  /** Of all tools of this owner's server, each scope once. */
  list(key: GrantKey): Promise<readonly string[]>;
  /** Of all owners, unless one is named. */
  forget(tenantId: TenantId, serverId: ServerId, owner?: string): Promise<void>;
}

/** The first of them, up to so many and so many bytes, each counted with the space behind it. */
export function firstScopes(scopes: readonly string[], count: number, bytes: number): readonly string[] {
  let rest = bytes;
  return scopes.slice(0, count).filter((scope) => {
    const size = Buffer.byteLength(scope) + 1;
    if (size > rest) return false;
    rest -= size;
    return true;
  });
}
