// Makes agent keys: the text is given out once, only its hash is kept.
import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { parsePrincipalId, randomId, type TenantId } from '../shared/id.ts';
import type { AgentKey } from './tenant-store.ts';

const AGENT_KEY = /^kb_[A-Za-z0-9_-]{43}$/;

export interface NewAgentKey {
  readonly tenantId: TenantId;
  readonly name: string;
  /** The one person or service the key acts for. */
  readonly principal?: string | undefined;
  /** Whom the agent may name per request; `*` for anyone of the tenant. */
  readonly mayActFor?: '*' | readonly string[] | undefined;
  readonly scopes: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number | undefined;
}

export function createAgentKey(wanted: NewAgentKey, clock: Clock): { readonly key: string; readonly record: AgentKey } {
  const { tenantId, name, principal, mayActFor = [], scopes, expiresAt } = wanted;
  const now = clock.now();
  requirePrincipals(principal, mayActFor);
  if (expiresAt !== undefined && !(expiresAt > now))
    throw new ProxyError('invalid_request', 'expiresAt must lie in the future.');
  if (principal === undefined && mayActFor.length === 0 && !isAdminOnly(scopes)) {
    throw new ProxyError('invalid_request', 'An agent key needs a principal, or mayActFor.');
  }
  const key = `kb_${randomId()}`;
  const record = {
    tenantId,
    id: randomUUID(),
    name,
    keyHash: hashAgentKey(key),
    principal,
    mayActFor,
    scopes,
    expiresAt,
    createdAt: now,
  };
  return { key, record };
}

/** The form alone: what does not look like a key need not be looked up. */
export function isAgentKey(token: string): boolean {
  return AGENT_KEY.test(token);
}

/** 256 random bits need no salt and no slow hash. */
export function hashAgentKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** A key made for the admin API only. It reaches no MCP server, so a leaked console key reads nobody's data. */
export function isAdminOnly(scopes: readonly string[]): boolean {
  return scopes.length > 0 && scopes.every((scope) => scope.startsWith('admin:'));
}

function requirePrincipals(principal: string | undefined, mayActFor: '*' | readonly string[]): void {
  const named = [...(principal === undefined ? [] : [principal]), ...(mayActFor === '*' ? [] : mayActFor)];
  if (named.some((id) => parsePrincipalId(id) === undefined)) {
    throw new ProxyError(
      'invalid_request',
      'A principal must be printable text of 1 to 512 characters without blanks around it.',
    );
  }
}
