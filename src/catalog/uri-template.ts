// Whether a URI may come from a template (RFC 6570). Told from the letters around the expressions alone, in one
// walk: templates and URIs are strangers' words, and a pattern made of them could take for ever.

/** Expressions that may hold a slash: reserved and fragment expansion, and those that begin with a separator (§3.2). */
const MAY_HOLD_SLASH = /^[+#/?&;.]/;
const EXPRESSION = /\{([^{}]*)\}/g;

/** False for a template without an expression: that is a URI, and is listed as one. */
export function comesFrom(uri: string, template: string): boolean {
  let at = 0;
  let from = 0;
  /** Undefined before the first expression. */
  let mayHoldSlash: boolean | undefined;
  for (const found of template.matchAll(EXPRESSION)) {
    const start = placeOf(template.slice(from, found.index), uri, at, mayHoldSlash);
    if (start === undefined) return false;
    at = start;
    // Of expressions side by side nobody can tell where one ends.
    const isBehindAnother = from === found.index && mayHoldSlash === true;
    mayHoldSlash = isBehindAnother || MAY_HOLD_SLASH.test(found[1] ?? '');
    from = found.index + found[0].length;
  }
  if (mayHoldSlash === undefined) return false;
  const last = template.slice(from);
  const end = uri.length - last.length;
  return end >= at && uri.endsWith(last) && (mayHoldSlash || !uri.slice(at, end).includes('/'));
}

/** The index behind `text` at or behind `at`; the nearest, for what is in between may only grow. */
function placeOf(text: string, uri: string, at: number, mayHoldSlash: boolean | undefined): number | undefined {
  if (mayHoldSlash === undefined) return uri.startsWith(text) ? text.length : undefined;
  const found = uri.indexOf(text, at);
  if (found < 0 || (!mayHoldSlash && uri.slice(at, found).includes('/'))) return undefined;
  return found + text.length;
}
