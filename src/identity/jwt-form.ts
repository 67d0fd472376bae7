// Takes a signed token apart without believing it: its form, and the claims it would make.
import { isJsonObject } from '../wire/reply.ts';
import { hasDuplicateNames } from './duplicate-names.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Undefined unless it is three canonical Base64url parts, the first two of them objects that say no name twice. */
export function readUnverifiedClaims(token: string): Claims | undefined {
  const parts = token.split('.');
  const [header, payload] = parts;
  // Base64 leaves unused bits at the end; only one spelling is taken, so no second text passes as the same token.
  if (parts.length !== 3 || header === undefined || payload === undefined) return undefined;
  if (!parts.every(isCanonicalBase64url) || parseObject(header) === undefined) return undefined;
  return parseObject(payload);
}

function isCanonicalBase64url(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function parseObject(part: string): Claims | undefined {
  try {
    const json = Buffer.from(part, 'base64url').toString();
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) && !hasDuplicateNames(json) ? value : undefined;
  } catch {
    return undefined;
  }
}
