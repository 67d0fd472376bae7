// Who may use the admin API: the operator, or an admin of one tenant. Bearer keys only, never cookies (T25).
import { createHash, timingSafeEqual } from 'node:crypto';
import type { TenantId } from '../shared/id.ts';
import type { AdminDeps } from './ports.ts';

export type Admin = { readonly kind: 'operator' } | { readonly kind: 'tenant'; readonly tenantId: TenantId };

const MAX_HEADER_LENGTH = 8 * 1024;
const MAX_GOOD_KEYS = 1_000;

type AdmitDeps = Pick<AdminDeps, 'adminKey' | 'findAgentKey' | 'strangers'>;

/**
 * Undefined for whoever holds no key for this API. Throws `rate_limited`, before anything is looked up, when too
 * many without one come from the address; the operator's own key is known without looking, and a key that was good
 * before is not counted.
 */
export function createAdmit({ adminKey, findAgentKey, strangers }: AdmitDeps) {
  const operatorHash = sha256(adminKey.reveal());
  /** Hashes of keys that were good when they were last looked up: they are looked up each time, but not counted. */
  const good = new Set<string>();

  const look = async (key: string): Promise<Admin | undefined> => {
    const agentKey = await findAgentKey(key);
    // Of its own tenant only, whatever other scopes a key was given.
    if (agentKey?.scopes.includes(`admin:${agentKey.tenantId}`) !== true) return undefined;
    return { kind: 'tenant', tenantId: agentKey.tenantId };
  };

  return async (authorization: string | undefined, address: () => string): Promise<Admin | undefined> => {
    const key = bearerIn(authorization);
    if (key === undefined) {
      strangers.count(address());
      return undefined;
    }
    const hash = sha256(key);
    if (timingSafeEqual(hash, operatorHash)) return { kind: 'operator' };
    const name = hash.toString('base64');
    const isCounted = !good.has(name);
    if (isCounted) strangers.count(address());
    let isRefused = false;
    try {
      const admin = await look(key);
      isRefused = admin === undefined;
      good.delete(name);
      if (!isRefused) good.add(name);
      // The one used longest ago.
      const [oldest] = good;
      if (oldest !== undefined && good.size > MAX_GOOD_KEYS) good.delete(oldest);
      return admin;
    } finally {
      // Also when it could not be judged.
      if (isCounted && !isRefused) strangers.forgive(address());
    }
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
