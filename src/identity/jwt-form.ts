// Takes a signed token apart without believing it: its form, and the claims it would make.
import { isJsonObject } from '../wire/reply.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Undefined unless it is three canonical Base64url parts with an object in the middle. */
export function readUnverifiedClaims(token: string): Claims | undefined {
  const parts = token.split('.');
  const [, payload] = parts;
  // Base64 leaves unused bits at the end; only one spelling is taken, so no second text passes as the same token.
  if (parts.length !== 3 || payload === undefined || !parts.every(isCanonicalBase64url)) return undefined;
  return parseObject(Buffer.from(payload, 'base64url').toString());
}

function isCanonicalBase64url(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function parseObject(json: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
