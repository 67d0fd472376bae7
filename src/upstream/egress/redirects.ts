// What a redirect may do. Libraries follow too much: they keep a key in a header of its own when they go to
// another origin. So they follow none, and here is the whole rule.
import { EgressDeniedError, ProxyError } from '../../shared/errors.ts';
import { checkUrl } from './check-url.ts';
import type { EgressPolicy } from './policy.ts';

export const MAX_REDIRECTS = 3;

export interface Hop {
  readonly url: string;
  readonly method: string;
  readonly hasBody: boolean;
  /** A request with a key of somebody in it never leaves its origin. */
  readonly carriesCredential: boolean;
}

export interface NextHop {
  readonly url: string;
  readonly isSameOrigin: boolean;
}

const FOLLOWED = new Set([301, 302, 303, 307, 308]);
/** The other ones turn a POST into a GET (Fetch §4.4). */
const KEEPS_METHOD = new Set([307, 308]);

/**
 * Where the answer sends us; undefined when it does not, and is the last one.
 * @param followed redirects that were followed before
 * @param policy `withoutExceptions` once a redirect has led to another origin
 * @throws ProxyError `upstream_protocol` for what is not followed, EgressDeniedError for where nobody may go
 */
export function nextHop(
  hop: Hop,
  answer: { readonly status: number; readonly location: string | undefined },
  followed: number,
  policy: EgressPolicy,
): NextHop | undefined {
  const { status, location } = answer;
  if (!FOLLOWED.has(status) || location === undefined) return undefined;
  if (followed >= MAX_REDIRECTS) throw refused(status, 'it is one too many');
  if (!URL.canParse(location, hop.url)) throw refused(status, 'it leads to no address');
  const target = new URL(location, hop.url);
  // As it was written: what the parser drops silently is refused here too.
  if (/^[a-z][a-z0-9+.-]*:/i.test(location)) checkUrl(location, policy);
  checkUrl(target.href, policy);
  const isSameOrigin = target.origin === new URL(hop.url).origin;
  if (hop.carriesCredential && !isSameOrigin) throw refused(status, 'it leads to another origin');
  if (hop.method !== 'GET' && !KEEPS_METHOD.has(status)) throw refused(status, 'it would change the request');
  // What the operator allows is for addresses that somebody registered, not for where a server sends us.
  if (!isSameOrigin && !isOpenTo(target.href, policy.withoutExceptions))
    throw refused(status, 'it leads to where only a registered server may be');
  if (hop.hasBody && !isSameOrigin) throw refused(status, 'it leads to another origin');
  return { url: target.href, isSameOrigin };
}

function isOpenTo(url: string, policy: EgressPolicy): boolean {
  try {
    checkUrl(url, policy);
    return true;
  } catch (error) {
    if (error instanceof EgressDeniedError) return false;
    throw error;
  }
}

function refused(status: number, why: string): ProxyError {
  return new ProxyError(
    'upstream_protocol',
    `The server answered with a redirect (${status}), which is not followed: ${why}.`,
    { data: { status } },
  );
}
