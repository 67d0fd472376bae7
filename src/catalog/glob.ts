// Globs on a server's own names: `*` is any run of characters, `?` is one character, the rest is literal
// and case counts. Work is at most pattern × name, whatever either says.

/** True when any of the patterns matches the whole name; no patterns match nothing. */
export function compileGlobs(patterns: readonly string[]): (name: string) => boolean {
  const literal = new Set(patterns.filter((pattern) => !/[*?]/.test(pattern)));
  const globs = patterns
    .filter((pattern) => /[*?]/.test(pattern))
    .map((pattern) => [...pattern.replaceAll(/\*{2,}/g, '*')]);
  return (name) => {
    if (literal.has(name)) return true;
    if (globs.length === 0) return false;
    const characters = [...name];
    return globs.some((glob) => matches(glob, characters));
  };
}

/**
 * Only the last `*` is ever widened: when a later part fails, an earlier `*` could not have helped, so
 * nothing grows with the number of stars.
 */
function matches(glob: readonly string[], name: readonly string[]): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let resumeAt = 0;
  while (position < name.length) {
    if (glob[at] === '*') {
      star = at;
      resumeAt = position;
      at += 1;
    } else if (at < glob.length && (glob[at] === '?' || glob[at] === name[position])) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      resumeAt += 1;
      position = resumeAt;
      at = star + 1;
    } else {
      return false;
    }
  }
  return glob.slice(at).every((rest) => rest === '*');
}
