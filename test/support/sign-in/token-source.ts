// What an MCP server has to know of the authorization server that its tokens come from.

export interface Access {
  readonly subject: string;
  /** What the token may be used for (RFC 8707); undefined: anything. */
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  readonly clientId: string;
}

export interface TokenSource {
  readonly issuer: string;
  /** Undefined when the token is not, or no longer, good. */
  check(token: string): Access | undefined | Promise<Access | undefined>;
}
