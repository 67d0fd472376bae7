// What each sealed thing is bound to (T22): what it is, whose, at which server, where it may go. One list for all
// kinds, so that no two of them can share a context, and a row that was moved opens nowhere else.
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';
import { ownerKey } from './credential.ts';
import type { CredentialKind } from './credential-store.ts';

export interface SealContext {
  readonly purpose: 'credential' | 'grant' | 'oauth-client' | 'attempt' | 'definition' | 'sign-in' | 'request-state';
  /** As `ownerKey` gives it: issuer and subject, or the tenant. */
  readonly owner: string;
  readonly server: string;
  /** Where the secret may go. */
  readonly binding: string;
  /** Which of the secrets there, and what else of its row must not change. */
  readonly field: readonly string[];
  /** What version 1 was bound to; rows of that time are sealed anew by the rotation. */
  readonly v1: readonly string[];
}

const TENANTS_OWN = ownerKey({ kind: 'tenant' });

/** The bytes that are authenticated with the secret. JSON, because words joined by a sign could be parted elsewhere. */
export function wordsOf(version: 1 | 2, tenantId: TenantId, context: SealContext): readonly unknown[] {
  if (version === 1) return ['v1', tenantId, ...context.v1];
  const { purpose, owner, server, binding, field } = context;
  return ['v2', purpose, tenantId, owner, server, binding, field];
}

export function credentialContext(
  kind: CredentialKind,
  serverId: ServerId,
  owner: string,
  binding: string,
): SealContext {
  const purpose = kind === 'secret' ? 'credential' : 'grant';
  return { purpose, owner, server: serverId, binding, field: [], v1: [purpose, serverId, owner, binding] };
}

/** The secret goes to the issuer alone, as this client and for this redirect URI. */
export function clientContext(
  { serverId, issuer }: { readonly serverId: ServerId; readonly issuer: string },
  { clientId, redirectUri, method }: Readonly<Record<'clientId' | 'redirectUri' | 'method', string>>,
): SealContext {
  return {
    purpose: 'oauth-client',
    owner: TENANTS_OWN,
    server: serverId,
    binding: issuer,
    field: [clientId, redirectUri, method],
    v1: ['oauth-client', serverId, issuer],
  };
}

/** Bound to the browser too: a row cannot be turned to another one. */
export function attemptContext(attempt: {
  readonly stateHash: Buffer;
  readonly contextId: string;
  readonly browserHash: Buffer;
  readonly serverId: ServerId;
  readonly principalId: PrincipalId;
  readonly binding: string;
}): SealContext {
  const { stateHash, contextId, browserHash, serverId, principalId, binding } = attempt;
  const state = stateHash.toString('base64url');
  return {
    purpose: 'attempt',
    owner: ownerKey({ kind: 'principal', principalId }),
    server: serverId,
    binding,
    field: [state, contextId, browserHash.toString('base64url')],
    v1: ['attempt', state, serverId, principalId, binding],
  };
}

/** `destination` as `destinationOf` gives it: whoever turns the address by hand gets no secret along. */
export function definitionContext(serverName: string, destination: string, path: string): SealContext {
  return {
    purpose: 'definition',
    owner: TENANTS_OWN,
    server: serverName,
    binding: destination,
    field: [path],
    v1: ['server', serverName, path],
  };
}

/** `destination`: the identity provider, or the product's own page. */
export function signInContext(member: 'clientSecret' | 'key', destination: string): SealContext {
  return {
    purpose: 'sign-in',
    owner: TENANTS_OWN,
    server: '',
    binding: destination,
    field: [member],
    v1: ['tenant', `signIn.${member}`],
  };
}

/** `call`: what exactly may go on with it. */
export function requestStateContext(
  serverId: ServerId,
  principalId: PrincipalId,
  argumentsDigest: string,
  call: readonly string[],
): SealContext {
  return {
    purpose: 'request-state',
    owner: ownerKey({ kind: 'principal', principalId }),
    server: serverId,
    binding: '',
    field: [argumentsDigest, ...call],
    v1: ['request-state', serverId, principalId, argumentsDigest, ...call],
  };
}
