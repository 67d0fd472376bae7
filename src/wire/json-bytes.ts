// Walks JSON by its bytes: where a string, a scalar or a bracketed value ends, and where a member
// stands. Brackets and strings are all that is looked at; what is in between is the reader's to judge.

export const OPEN = 0x7b;
export const CLOSE = 0x7d;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;

/** Short strings are walked, long ones searched: a call into native code costs as much as this many steps. */
const STRIDE = 64;
/** As RFC 8259 §6 and §7 write numbers, literals and strings. */
const SCALAR =
  /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")$/;

export const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

export const opensValue = (byte: number | undefined): boolean => byte === OPEN || byte === OPEN_LIST;

export function skipBlanks(bytes: Buffer, at: number): number {
  const { length } = bytes;
  for (; at >= 0 && at < length; at++) {
    const byte = bytes[at] as number;
    if (byte > 0x20 || !isBlank(byte)) return at;
  }
  return at;
}

/**
 * The index behind a string's closing quote, or -1.
 * @param limit a string that goes on behind it may be given up
 */
export function endOfString(bytes: Buffer, at: number, limit = bytes.length): number {
  let i = at + 1;
  for (let stride = STRIDE; ; stride *= 2) {
    for (const near = Math.min(bytes.length, i + stride); i < near; i++) {
      const byte = bytes[i];
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) return i + 1;
    }
    if (i >= limit) return -1;
    const quote = bytes.indexOf(QUOTE, i);
    if (quote < 0) return -1;
    let first = quote;
    while (first > i && bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    // Where one quote is escaped the next may be as well: searching for each of millions costs more than walking.
    i = quote + 1;
  }
}

/** The index behind a string, number or literal; -1 for anything else. */
export function endOfScalar(bytes: Buffer, at: number): number {
  let end = at;
  if (bytes[at] === QUOTE) end = endOfString(bytes, at);
  else while (end < bytes.length && bytes[end] !== COMMA && bytes[end] !== CLOSE && !isBlank(bytes[end])) end++;
  return end >= 0 && SCALAR.test(bytes.toString('latin1', at, end)) ? end : -1;
}

/** The index behind the object or array that begins at `at`; -1 when it never ends. */
export function endOfNested(bytes: Buffer, at: number): number {
  let depth = 0;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      const end = endOfString(bytes, i);
      if (end < 0) return -1;
      i = end - 1;
    } else if (opensValue(byte)) depth++;
    else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return i + 1;
  }
  return -1;
}

/**
 * Where the value of member `key` begins in the object at `at`; undefined when the object has no such
 * member of its own. Of several the last, and one written with escapes as well: the one that
 * `JSON.parse` would give.
 */
export function findMember(bytes: Buffer, at: number, key: string): number | undefined {
  if (bytes[at] !== OPEN) return undefined;
  let found: number | undefined;
  for (let i = at + 1; i < bytes.length; i++) {
    const start = skipBlanks(bytes, i);
    const end = bytes[start] === QUOTE ? endOfString(bytes, start) : -1;
    const colon = skipBlanks(bytes, end);
    if (end < 0 || bytes[colon] !== COLON) return found;
    const value = skipBlanks(bytes, colon + 1);
    if (isKey(bytes, start, end, key)) found = value;
    const behind = opensValue(bytes[value])
      ? endOfNested(bytes, value)
      : bytes[value] === QUOTE
        ? endOfString(bytes, value)
        : value;
    if (behind < 0) return found;
    i = behind;
    while (i < bytes.length && bytes[i] !== COMMA && bytes[i] !== CLOSE) i++;
    if (bytes[i] !== COMMA) return found;
  }
  return found;
}

/**
 * Whether the string at `start`, quotes included, is `key`, escapes and all. It ends at the first letter that is
 * another one: of a million members each costs a look, not a copy or a parse.
 */
export function isKey(bytes: Buffer, start: number, end: number, key: string): boolean {
  let at = start + 1;
  for (let nth = 0; nth < key.length; nth++) {
    const letter = key.charCodeAt(nth);
    if (at >= end - 1) return false;
    if (letter > LAST_ASCII) return isParsed(bytes, start, end, key);
    const isEscaped = bytes[at] === BACKSLASH;
    if ((isEscaped ? unescaped(bytes, at) : bytes[at]) !== letter) return false;
    at += isEscaped ? (bytes[at + 1] === LOWER_U ? LONG_ESCAPE : SHORT_ESCAPE) : 1;
  }
  return at === end - 1;
}

const LAST_ASCII = 0x7f;
const LOWER_U = 0x75;
/** `\\u0061` for one letter. */
const LONG_ESCAPE = 6;
const SHORT_ESCAPE = 2;
/** As RFC 8259 §7 writes them. */
const SHORT_ESCAPES: ReadonlyMap<number | undefined, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([sign, meant]) => [sign.charCodeAt(0), meant.charCodeAt(0)] as const,
  ),
);

/** The unit that the escape at `at` stands for; NaN for what is none. */
function unescaped(bytes: Buffer, at: number): number {
  const short = SHORT_ESCAPES.get(bytes[at + 1]);
  if (short !== undefined) return short;
  const digits = bytes.toString('latin1', at + 2, at + LONG_ESCAPE);
  return bytes[at + 1] === LOWER_U && /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
}

function isParsed(bytes: Buffer, start: number, end: number, key: string): boolean {
  try {
    return JSON.parse(bytes.toString('utf8', start, end)) === key;
  } catch {
    return false;
  }
}
