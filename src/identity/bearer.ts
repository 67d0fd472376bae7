// Reads the Authorization header: exactly one bearer token of bounded length, or nothing.

const MAX_TOKEN_LENGTH = 8 * 1024;
/** RFC 6750 §2.1; the scheme is compared without case (RFC 9110 §11.1). A comma would be a second token. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const LONGEST_HEADER = MAX_TOKEN_LENGTH + 'bearer '.length;

export function parseBearer(authorization: string): string | undefined {
  if (authorization.length > LONGEST_HEADER) return undefined;
  return BEARER.exec(authorization)?.[1];
}
