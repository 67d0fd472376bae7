// Names that must not be mixed up, as types. They are minted where something unknown was checked.
import { randomBytes } from 'node:crypto';

export type TenantId = string & { readonly __brand: 'TenantId' };
/** Text that names a person or service inside one tenant; compared byte for byte. */
export type PrincipalId = string & { readonly __brand: 'PrincipalId' };
/** Survives renames; a server deleted and registered again under the same name gets a new one. */
export type ServerId = string & { readonly __brand: 'ServerId' };

const TENANT = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

/** Undefined when the text cannot be a tenant's id. */
export function parseTenantId(text: string): TenantId | undefined {
  return TENANT.test(text) ? (text as TenantId) : undefined;
}

/** Undefined when empty, longer than 512 characters, or not well-formed printable text. */
export function parsePrincipalId(text: string): PrincipalId | undefined {
  if (text === '' || text.length > 512 || text.trim() !== text) return undefined;
  // Control characters are what is refused here.
  return /[\u0000-\u001f\u007f]/.test(text) ? undefined : (text as PrincipalId);
}

/** 256 bits, URL-safe. */
export function randomId(bytes = 32): string {
  return randomBytes(bytes).toString('base64url');
}
