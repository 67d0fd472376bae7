// Finds what a server says about its sign-in (RFC 9728): at the addresses of its challenge, then at the
// well-known ones. Servers get each of them wrong, so a failure moves on, and only the last one is told.
import { ProxyError } from '../../shared/errors.ts';
import type { JsonObject } from '../../wire/reply.ts';
import { readScopes } from './challenge.ts';
import { type ReadDocument, readText, readTexts, showAsked } from './documents.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const MAX_FROM_CHALLENGE = 2;

export interface ProtectedResource {
  /** RFC 8707, as the document writes it. */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

export type Finding =
  | { readonly kind: 'found'; readonly resource: ProtectedResource }
  /** The server publishes none, which servers of the revision 2025-03-26 may do. */
  | { readonly kind: 'none'; readonly asked: readonly string[] };

export interface ResourceQuestion {
  readonly serverUrl: string;
  /** From the challenge; only those at the server's own origin are asked (RFC 9728 §7.7). */
  readonly candidates: readonly string[];
  /** Set by the admin: then what the document says about itself does not matter. */
  readonly pinnedResource: string | undefined;
  readonly read: ReadDocument;
}

/** Throws `upstream_unavailable` while the document may be there but does not come, `upstream_protocol` when it is of no use. */
export async function findProtectedResource(question: ResourceQuestion): Promise<Finding> {
  const { origin } = new URL(question.serverUrl);
  const asked: string[] = [];
  let isUnavailable = false;
  let cause: unknown;
  let isForeign = false;
  for (const address of addressesOf(question)) {
    const reading =
      new URL(address).origin === origin
        ? await question.read(address)
        : { kind: 'missing' as const, why: 'on another host, not asked' };
    if (reading.kind === 'document') {
      const resource = readDocument(reading.json, question);
      if (resource !== undefined) return { kind: 'found', resource };
      isForeign = true;
    }
    if (reading.kind === 'unavailable') {
      isUnavailable = true;
      cause ??= reading.cause;
    }
    asked.push(showAsked(address, reading.kind === 'document' ? 'its "resource" is not this server' : reading.why));
  }
  if (isForeign)
    throw new ProxyError(
      'upstream_protocol',
      `The server describes the sign-in of another resource: ${asked.join(', ')}. If that is right, set "resource" in credential.oauth.`,
    );
  if (isUnavailable)
    throw new ProxyError(
      'upstream_unavailable',
      `The server does not say how to sign in now: ${asked.join(', ')}. Try again in a moment.`,
      { cause },
    );
  return { kind: 'none', asked };
}

function addressesOf({ serverUrl, candidates }: ResourceQuestion): readonly string[] {
  const { origin, pathname, search } = new URL(serverUrl);
  const path = pathname === '/' ? '' : pathname;
  const wellKnown = [`${origin}${WELL_KNOWN}${path}${search}`, `${origin}${WELL_KNOWN}`];
  return [...new Set([...candidates.slice(0, MAX_FROM_CHALLENGE), ...wellKnown])];
}

function readDocument(
  json: JsonObject,
  { serverUrl, pinnedResource }: ResourceQuestion,
): ProtectedResource | undefined {
  const resource = readText(json['resource']);
  if (pinnedResource === undefined && (resource === undefined || !covers(resource, serverUrl))) return undefined;
  return {
    resource: pinnedResource ?? resource ?? '',
    authorizationServers: readTexts(json['authorization_servers']) ?? [],
    scopes: readScopes(readTexts(json['scopes_supported'])?.join(' ')),
  };
}

/** A token for `resource` is meant for this server: the same address, or one above it at the same origin. */
function covers(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false;
  const wide = new URL(resource);
  const own = new URL(serverUrl);
  if (wide.origin !== own.origin || (wide.search !== '' && wide.search !== own.search)) return false;
  const prefix = withoutSlash(wide.pathname);
  const path = withoutSlash(own.pathname);
  return path === prefix || path.startsWith(`${prefix}/`);
}

/**
 * What to send as `resource` where no document says it (2026-07-28 §authorization, canonical server URI):
 * no slash at the end, and no query, which would show a key in it to the authorization server.
 */
export function canonicalResource(serverUrl: string): string {
  const { origin, pathname } = new URL(serverUrl);
  return `${origin}${withoutSlash(pathname)}`;
}

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);
