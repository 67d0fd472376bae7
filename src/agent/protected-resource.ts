// Tells an agent where to get a token: RFC 9728 metadata for each MCP route, and the challenge that
// points to it. Addresses come from the public URL, never from request headers.
import type { ProxyError } from '../shared/errors.ts';
import type { McpRoute } from './route.ts';

export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** RFC 6750 §3: an error is named only when a token came. */
export function challengeFor(publicUrl: string, route: McpRoute, error: ProxyError, hadToken: boolean): string {
  const { origin, pathname } = new URL(publicUrl);
  const base = pathname === '/' ? '' : pathname.replace(/\/$/, '');
  const metadata = `resource_metadata="${origin}${WELL_KNOWN}${base}${route.path}"`;
  if (error.code === 'insufficient_scope') return `Bearer error="insufficient_scope", ${metadata}`;
  return hadToken ? `Bearer error="invalid_token", ${metadata}` : `Bearer ${metadata}`;
}

/** The document for one route (RFC 9728 §2). `issuers` are those whose tokens the tenant takes. */
export function resourceMetadata(
  publicUrl: string,
  route: McpRoute,
  issuers: readonly string[],
): Record<string, unknown> {
  return {
    resource: `${publicUrl}${route.path}`,
    ...(issuers.length === 0 ? {} : { authorization_servers: issuers }),
    bearer_methods_supported: ['header'],
    resource_name: 'Keybearer',
  };
}
