// Changes the texts inside a JSON document and nothing else: numbers, members in double and blanks stay
// as they were written, which parsing and writing again would not promise.

/** Every string, names of members included. Throws SyntaxError where one cannot be read, or does not end. */
export function mapStrings(json: string, change: (text: string) => string): string {
  const parts: string[] = [];
  let done = 0;
  for (let start = json.indexOf('"'); start >= 0; start = json.indexOf('"', done)) {
    const end = endOf(json, start);
    const inner = json.slice(start + 1, end);
    const text = inner.includes('\\') ? (JSON.parse(json.slice(start, end + 1)) as string) : inner;
    const changed = change(text);
    parts.push(json.slice(done, start), changed === text ? json.slice(start, end + 1) : JSON.stringify(changed));
    done = end + 1;
  }
  return done === 0 ? json : parts.join('') + json.slice(done);
}

/** Index of the quote that ends the string which begins at `start`. */
function endOf(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let first = quote;
    while (json.charCodeAt(first - 1) === 0x5c) first--;
    if ((quote - first) % 2 === 0) return quote;
  }
  throw new SyntaxError('a string does not end');
}
