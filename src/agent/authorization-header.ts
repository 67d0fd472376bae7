// The Authorization header as it came. Node keeps the first of several and drops the others without a word;
// a front before us may have judged another one, so several are joined, and are no good token.
import type { IncomingMessage } from 'node:http';

export function authorizationOf(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined || !isSaidTwice(request.rawHeaders, 'authorization')) return authorization;
  return request.headersDistinct['authorization']?.join(', ');
}

/** `raw`: names and values in turn, as Node has them. `name` in lower case. Looked at with each request. */
export function isSaidTwice(raw: readonly string[], name: string): boolean {
  let seen = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const one = raw[at];
    if (one?.length === name.length && one.toLowerCase() === name && ++seen > 1) return true;
  }
  return false;
}
