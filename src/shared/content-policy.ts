// The Content-Security-Policy of everything that is not MCP: nothing runs, nothing is loaded but our own
// stylesheet, nobody frames it.

/** `formTargets` are further places that a form of the page may end at (ADR 14). */
export function contentPolicy(formTargets: readonly string[] = []): string {
  const formAction = ["'self'", ...formTargets].join(' ');
  return `default-src 'none'; style-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`;
}
