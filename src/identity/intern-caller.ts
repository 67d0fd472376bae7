// One object per caller: equal parts give the same object, so others may key memory by it.
import { LRUCache } from 'lru-cache';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { type Caller, callerKey } from './caller.ts';

export type InternCaller = (
  tenantId: TenantId,
  principalId: PrincipalId,
  agentId: string,
  scopes: readonly string[],
) => Caller;

export function createInternCaller(max: number): InternCaller {
  const callers = new LRUCache<string, Caller>({ max });
  return (tenantId, principalId, agentId, scopes) => {
    const key = callerKey(tenantId, principalId);
    // The two free texts, agent and scopes, come last; JSON keeps their border clear whatever they hold.
    const name = `${key}\u0000${JSON.stringify([agentId, ...scopes])}`;
    const known = callers.get(name);
    if (known !== undefined) return known;
    const caller: Caller = { tenantId, principalId, agentId, scopes: new Set(scopes), key };
    callers.set(name, caller);
    return caller;
  };
}
