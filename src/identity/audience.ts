// Was this token made for us? Keeps out tokens, ID tokens among them, that were made for another service.

export interface ExpectedAudience {
  /** As the tenant registered it with the issuer. */
  readonly registered: string;
  readonly publicUrl: string;
  readonly tenantId: string;
}

/** `aud` may be one text or a list (RFC 7519 §4.1.3). A slash at the end makes no difference. */
export function isForUs(aud: unknown, expected: ExpectedAudience): boolean {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return list.some((one) => typeof one === 'string' && isOurs(withoutSlash(one), expected));
}

function isOurs(one: string, { registered, publicUrl, tenantId }: ExpectedAudience): boolean {
  const wanted = withoutSlash(registered);
  if (wanted === '') return false;
  if (one === wanted) return true;
  // Agents ask for tokens by the address they call (RFC 8707), so a tenant that registered our own
  // address gets tokens for any of its endpoints.
  const home = withoutSlash(publicUrl);
  const endpoints = [`${home}/mcp`, `${home}/t/${tenantId}/mcp`];
  return (
    [home, ...endpoints].includes(wanted) && (one === home || endpoints.some((at) => one === at || isBelow(one, at)))
  );
}

/** One more path segment, that of a server or toolset. */
function isBelow(url: string, endpoint: string): boolean {
  return url.startsWith(`${endpoint}/`) && /^[a-z0-9-]+$/.test(url.slice(endpoint.length + 1));
}

function withoutSlash(text: string): string {
  return text.endsWith('/') ? text.slice(0, -1) : text;
}
