// Does a JSON text say one name twice in one object? Readers differ on which of the two they take, so a
// token that does so may mean one person to its issuer and another to us (RFC 7519 §4).

/** The text must be JSON. Names are compared as they read, not as they are written. */
export function hasDuplicateNames(json: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs;
  for (const [text, colon] of json.matchAll(token)) {
    if (text === '{') open.push(new Set());
    else if (text === '[') open.push(undefined);
    else if (text === '}' || text === ']') open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      const name = JSON.parse(text.slice(0, -colon.length)) as string;
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}
