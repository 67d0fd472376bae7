// Goes through the members of an object, or the elements of a list, by their bytes: nothing is parsed, so what is
// large or deep costs no more than a look at each byte.
import {
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  endOfNested,
  endOfString,
  isBlank,
  OPEN,
  OPEN_LIST,
  opensValue,
  QUOTE,
  skipBlanks,
} from './json-bytes.ts';

/** Told where a member's key (with its quotes) and value stand. True says: enough was seen. */
export type VisitMember = (keyStart: number, keyEnd: number, start: number, end: number) => boolean | undefined;
/** True says: enough was seen. */
export type VisitElement = (start: number, end: number) => boolean | undefined;

/** The index behind the value that begins at `at`; -1 when there is none, or it never ends. What is in between is not judged. */
export function endOfValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (opensValue(first)) return endOfNested(bytes, at);
  if (first === QUOTE) return endOfString(bytes, at);
  let end = at;
  while (end < bytes.length && !endsScalar(bytes[end])) end++;
  return end === at ? -1 : end;
}

const endsScalar = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE || byte === CLOSE_LIST || isBlank(byte);

/** Visits each member of the object at `at`, in order, until it has seen enough. False when its bytes are no object; some may have been visited. */
export function eachMember(bytes: Buffer, at: number, visit: VisitMember): boolean {
  if (bytes[at] !== OPEN) return false;
  let i = skipBlanks(bytes, at + 1);
  if (bytes[i] === CLOSE) return true;
  for (;;) {
    const keyEnd = bytes[i] === QUOTE ? endOfString(bytes, i) : -1;
    const colon = skipBlanks(bytes, keyEnd);
    if (keyEnd < 0 || bytes[colon] !== COLON) return false;
    const start = skipBlanks(bytes, colon + 1);
    const end = endOfValue(bytes, start);
    if (end < 0) return false;
    if (visit(i, keyEnd, start, end) === true) return true;
    const next = skipBlanks(bytes, end);
    if (bytes[next] !== COMMA) return bytes[next] === CLOSE;
    i = skipBlanks(bytes, next + 1);
  }
}

export const END_OF_LIST = -1;

/** Where the first element of the list at `at` begins; `END_OF_LIST` where there is none; undefined when it is no list. */
export function firstElement(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] !== OPEN_LIST) return undefined;
  const first = skipBlanks(bytes, at + 1);
  return bytes[first] === CLOSE_LIST ? END_OF_LIST : first;
}

/** The same for the one behind the element that ends at `end`. */
export function nextElement(bytes: Buffer, end: number): number | undefined {
  const next = skipBlanks(bytes, end);
  if (bytes[next] === COMMA) return skipBlanks(bytes, next + 1);
  return bytes[next] === CLOSE_LIST ? END_OF_LIST : undefined;
}

/** Visits each element of the list at `at`, in order, until it has seen enough. False when its bytes are no list; some may have been visited. */
export function eachElement(bytes: Buffer, at: number, visit: VisitElement): boolean {
  let start = firstElement(bytes, at);
  while (start !== undefined && start !== END_OF_LIST) {
    const end = endOfValue(bytes, start);
    if (end < 0) return false;
    if (visit(start, end) === true) return true;
    start = nextElement(bytes, end);
  }
  return start === END_OF_LIST;
}

/** The value at `at`, parsed, where it has at most `maxBytes`; undefined where it has more or is no JSON. */
export function smallValue(bytes: Buffer, at: number, maxBytes: number): unknown {
  const end = endOfValue(bytes, at);
  if (end < 0 || end - at > maxBytes) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8', at, end)) as unknown;
  } catch {
    return undefined;
  }
}

/** The JSON at `start` without blanks between its tokens; undefined when it would have more than `maxBytes`, found out early. */
export function withoutBlanks(bytes: Buffer, start: number, end: number, maxBytes: number): Buffer | undefined {
  const out = Buffer.allocUnsafe(Math.min(maxBytes, end - start));
  let length = 0;
  for (let i = start; i < end; ) {
    i = skipBlanks(bytes, i);
    if (i >= end) break;
    const byte = bytes[i] as number;
    const behind = byte === QUOTE ? endOfString(bytes, i, i + maxBytes - length) : i + 1;
    if (behind < 0 || length + behind - i > maxBytes) return undefined;
    if (behind === i + 1) out[length] = byte;
    else bytes.copy(out, length, i, behind);
    length += behind - i;
    i = behind;
  }
  return out.subarray(0, length);
}

/**
 * Where a JSON string's text, which begins at `start`, can be cut so that at most `maxBytes` of it remain: never
 * within a character, an escape, or a pair of escapes that make one character.
 */
export function cutInString(bytes: Buffer, start: number, maxBytes: number): number {
  let end = start + Math.max(0, maxBytes);
  while (end > start && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  end = beforeSplitEscape(bytes, start, end);
  if (
    /^\\u[dD][89abAB]/.test(bytes.toString('latin1', Math.max(start, end - 6), end)) &&
    isEscape(bytes, start, end - 6)
  )
    end -= 6;
  return end;
}

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const UNICODE_ESCAPE = 6;

/** An escape begins where a backslash stands behind an even number of them. */
function isEscape(bytes: Buffer, start: number, at: number): boolean {
  if (at < start || bytes[at] !== BACKSLASH) return false;
  let first = at;
  while (first > start && bytes[first - 1] === BACKSLASH) first--;
  return (at - first) % 2 === 0;
}

function beforeSplitEscape(bytes: Buffer, start: number, end: number): number {
  for (let back = 1; back < UNICODE_ESCAPE; back++) {
    const at = end - back;
    if (!isEscape(bytes, start, at)) continue;
    const length = bytes[at + 1] === LOWER_U ? UNICODE_ESCAPE : 2;
    return at + length > end ? at : end;
  }
  return end;
}
