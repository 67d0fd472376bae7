// Whom an agent key acts for in one request: the principal in the header if the key may, else the key's own.
import { ProxyError } from '../shared/errors.ts';
import { type PrincipalId, parsePrincipalId } from '../shared/id.ts';
import { isAdminOnly } from './agent-key.ts';
import { parsePrincipalHeader } from './principal-header.ts';
import type { AgentKey } from './tenant-store.ts';

/** An agent key made ready to be asked once per call. */
export interface ActingKey {
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly adminOnly: boolean;
  readonly own: PrincipalId | undefined;
  readonly others: '*' | ReadonlySet<string>;
}

export function toActingKey(key: AgentKey): ActingKey {
  return {
    agentId: key.id,
    scopes: key.scopes,
    adminOnly: isAdminOnly(key.scopes),
    own: key.principal === undefined ? undefined : parsePrincipalId(key.principal),
    others: key.mayActFor === '*' ? '*' : new Set(key.mayActFor),
  };
}

/** Ids are compared byte for byte: another case or Unicode form is another person. */
export function choosePrincipal(key: ActingKey, header: string | readonly string[] | undefined): PrincipalId {
  if (key.adminOnly) throw new ProxyError('insufficient_scope', 'This key is for the admin API only.');
  const named = parsePrincipalHeader(header);
  if (named === undefined && key.own !== undefined) return key.own;
  if (named === undefined) {
    throw new ProxyError(
      'invalid_request',
      'No principal: send the header Keybearer-Principal, or use a key with a fixed principal.',
    );
  }
  if (named === key.own || key.others === '*' || key.others.has(named)) return named;
  throw new ProxyError('insufficient_scope', 'This key may not act for the principal named in Keybearer-Principal.');
}
