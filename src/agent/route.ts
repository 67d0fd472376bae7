// The MCP routes: /mcp, /mcp/{name}, /t/{tenant}/mcp and /t/{tenant}/mcp/{name}.

export interface McpRoute {
  /** Undefined: the token alone says which tenant. */
  readonly tenant: string | undefined;
  readonly only: string | undefined;
  /** The path without query and trailing slash, as it stands in metadata addresses. */
  readonly path: string;
}

const ALL: McpRoute = { tenant: undefined, only: undefined, path: '/mcp' };
const PATTERN = /^(?:\/t\/([A-Za-z0-9-]{1,64}))?\/mcp(?:\/([A-Za-z0-9-]{1,64}))?\/?$/;

/** Undefined when the URL is not ours to answer. A trailing slash and a query change nothing. */
export function parseMcpRoute(url: string): McpRoute | undefined {
  if (url === '/mcp') return ALL;
  const cut = url.indexOf('?');
  const path = cut < 0 ? url : url.slice(0, cut);
  const found = PATTERN.exec(path);
  if (found === null) return undefined;
  return { tenant: found[1], only: found[2], path: path.endsWith('/') ? path.slice(0, -1) : path };
}
