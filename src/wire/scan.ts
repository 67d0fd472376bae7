// Where the parts of a JSON-RPC message stand in its bytes, without parsing the body. Only the few
// members before the payload and the id behind it are read, so a reply of a megabyte costs the
// same as one of a hundred bytes. What cannot be told for certain gives undefined: parse instead.

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Scanned {
  readonly kind: 'result' | 'error' | 'call';
  /** The id's own text, absent for a notification. */
  readonly id: Span | undefined;
  /** Where the result, error or params value begins; undefined when the message has none. */
  readonly payload: number | undefined;
  readonly method: string | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipBlanks(bytes: Buffer, at: number): number {
  while (isBlank(bytes[at])) at++;
  return at;
}

/** The index behind a string's closing quote, or -1. Escapes count; a key with one is not ours to read. */
function endOfString(bytes: Buffer, at: number): number {
  for (let i = at + 1; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === BACKSLASH) i++;
    else if (byte === QUOTE) return i + 1;
  }
  return -1;
}

/** The index behind a string, number or literal; -1 for objects and arrays, which would need parsing. */
function endOfScalar(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return endOfString(bytes, at);
  if (first === undefined || first === OPEN || first === 0x5b) return -1;
  let i = at;
  while (i < bytes.length && bytes[i] !== COMMA && bytes[i] !== CLOSE && !isBlank(bytes[i])) i++;
  return i;
}

/**
 * The id when it is the last member: the last brace of a document is its outermost one, so the member
 * right before it is a member of the message itself, whatever the payload holds. Digits only; the ids
 * that we send upstream are numbers.
 */
function trailingId(bytes: Buffer): Span | undefined {
  let at = bytes.length - 1;
  while (isBlank(bytes[at])) at--;
  if (bytes[at] !== CLOSE) return undefined;
  at--;
  while (isBlank(bytes[at])) at--;
  const end = at + 1;
  while (bytes[at] !== undefined && (bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at--;
  const start = at + 1;
  if (start === end) return undefined;
  while (isBlank(bytes[at])) at--;
  if (bytes[at] !== COLON) return undefined;
  at--;
  while (isBlank(bytes[at])) at--;
  // `"id"` preceded by a comma: with an escaped quote in front it could be the tail of a string.
  if (at < 4 || bytes.toString('latin1', at - 3, at + 1) !== '"id"') return undefined;
  at -= 4;
  while (isBlank(bytes[at])) at--;
  return bytes[at] === COMMA ? { start, end } : undefined;
}

/** Reads the head of a message; undefined when it is no plain JSON-RPC object or cannot be told cheaply. */
export function scan(bytes: Buffer): Scanned | undefined {
  let at = skipBlanks(bytes, 0);
  if (bytes[at] !== OPEN) return undefined;
  let id: Span | undefined;
  let method: string | undefined;
  for (;;) {
    at = skipBlanks(bytes, at + 1);
    if (bytes[at] !== QUOTE) return undefined;
    const keyEnd = endOfString(bytes, at);
    if (keyEnd < 0) return undefined;
    const key = bytes.toString('latin1', at + 1, keyEnd - 1);
    at = skipBlanks(bytes, keyEnd);
    if (bytes[at] !== COLON) return undefined;
    at = skipBlanks(bytes, at + 1);
    if (key === 'result' || key === 'error') {
      return finish(key, id ?? trailingId(bytes), at, method);
    }
    if (key === 'params' && method !== undefined) return { kind: 'call', id, payload: at, method };
    const end = endOfScalar(bytes, at);
    if (end < 0) return undefined;
    if (key === 'id') id = { start: at, end };
    if (key === 'method') method = bytes.toString('latin1', at + 1, end - 1);
    at = skipBlanks(bytes, end);
    if (bytes[at] === CLOSE) return method === undefined ? undefined : { kind: 'call', id, payload: undefined, method };
    if (bytes[at] !== COMMA) return undefined;
  }
}

function finish(kind: 'result' | 'error', id: Span | undefined, payload: number, method: string | undefined): Scanned | undefined {
  if (id === undefined || method !== undefined) return undefined;
  return { kind, id, payload, method: undefined };
}

/**
 * Where the value of member `key` begins in the object at `at`, by walking its bytes; undefined when the
 * object has no such member of its own. Nested objects are passed over.
 */
export function findMember(bytes: Buffer, at: number, key: string): number | undefined {
  if (bytes[at] !== OPEN) return undefined;
  const wanted = Buffer.from(`"${key}"`);
  let depth = 0;
  let isKey = true;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      const end = endOfString(bytes, i);
      if (end < 0) return undefined;
      if (depth === 1 && isKey && end - i === wanted.length && bytes.compare(wanted, 0, wanted.length, i, end) === 0) {
        const colon = skipBlanks(bytes, end);
        return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : undefined;
      }
      i = end - 1;
    } else if (byte === OPEN || byte === 0x5b) depth++;
    else if (byte === CLOSE || byte === 0x5d) {
      if (--depth === 0) return undefined;
    } else if (depth === 1 && byte === COLON) isKey = false;
    else if (depth === 1 && byte === COMMA) isKey = true;
  }
  return undefined;
}
