// A notice's payload → Change. Anybody who may connect to the database can send one, so it is only a hint where to look.
import type { Change } from '../shared/changes.ts';
import { parseTenantId } from '../shared/id.ts';

/** Undefined for anything that is not a change. */
export function parseChange(payload: string): Change | undefined {
  const { kind, tenantId: tenant, serverId, owner } = toFields(payload);
  if (kind === 'resync') return { kind };
  const tenantId = typeof tenant === 'string' ? parseTenantId(tenant) : undefined;
  if (tenantId === undefined) return undefined;
  if (kind === 'tenants' || kind === 'issuers' || kind === 'agent_keys' || kind === 'data_keys')
    return { kind, tenantId };
  if (typeof serverId !== 'string') return undefined;
  if (kind === 'servers') return { kind, tenantId, serverId };
  if (typeof owner !== 'string') return undefined;
  if (kind !== 'catalogs' && kind !== 'credentials' && kind !== 'sign_in_denied') return undefined;
  return { kind, tenantId, serverId, owner };
}

function toFields(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
