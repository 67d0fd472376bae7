// Who may use the admin API: the operator, or an admin of one tenant. Bearer keys only, never cookies (T25).
import { createHash, timingSafeEqual } from 'node:crypto';
import type { TenantId } from '../shared/id.ts';
import type { AdminDeps } from './ports.ts';

export type Admin = { readonly kind: 'operator' } | { readonly kind: 'tenant'; readonly tenantId: TenantId };

const MAX_HEADER_LENGTH = 8 * 1024;

type AdmitDeps = Pick<AdminDeps, 'adminKey' | 'findAgentKey' | 'strangers'>;

/**
 * Undefined for whoever holds no key for this API. Throws `rate_limited`, before anything is looked up, when too
 * many without one come from the address; the operator's own key is known without looking.
 */
export function createAdmit({ adminKey, findAgentKey, strangers }: AdmitDeps) {
  const operatorHash = sha256(adminKey.reveal());
  return async (authorization: string | undefined, address: () => string): Promise<Admin | undefined> => {
    const key = bearerIn(authorization);
    if (key !== undefined && timingSafeEqual(sha256(key), operatorHash)) return { kind: 'operator' };
    strangers.count(address());
    const agentKey = key === undefined ? undefined : await findAgentKey(key);
    // Of its own tenant only, whatever other scopes a key was given.
    if (agentKey?.scopes.includes(`admin:${agentKey.tenantId}`) !== true) return undefined;
    strangers.forgive(address());
    return { kind: 'tenant', tenantId: agentKey.tenantId };
  };
}

/** Any visible text: the operator chooses the key. */
function bearerIn(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_HEADER_LENGTH) return undefined;
  return /^bearer +(\S+)$/i.exec(authorization)?.[1];
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
