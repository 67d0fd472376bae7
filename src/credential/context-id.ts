// The connection context: what a redirect URI is for. One for each tenant and server, so that an answer
// meant for one can never complete another (T2, D8).
import { createHash } from 'node:crypto';
import type { ServerId, TenantId } from '../shared/id.ts';

/** Says nothing about who it is for, and is the same on every node and after every start. */
export function contextIdOf(tenantId: TenantId, serverId: ServerId): string {
  return createHash('sha256')
    .update(JSON.stringify(['context', tenantId, serverId]))
    .digest('base64url')
    .slice(0, 22);
}
