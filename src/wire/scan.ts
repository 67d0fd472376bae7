// Where the parts of a JSON-RPC message stand in its bytes, without parsing it: nested values are passed
// over by their brackets and strings alone, which costs a fraction of a parse. What cannot be told for
// certain gives undefined: parse instead.
import { indexOfText } from './find-text.ts';
import {
  CLOSE,
  COLON,
  COMMA,
  endOfNested,
  endOfScalar,
  endOfString,
  isBlank,
  OPEN,
  opensValue,
  QUOTE,
  skipBlanks,
} from './json-bytes.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Scanned {
  readonly kind: 'result' | 'error' | 'call';
  /** The id's own text, absent for a notification. */
  readonly id: Span | undefined;
  /** The result, error or params value; undefined when the message has none. */
  readonly payload: Span | undefined;
  /** Set when it was seen that no letter is written as an escape. */
  readonly isPlain?: true;
}

const MINUS = 0x2d;
const NULL = 0x6e;
const NAMES = new Set(['id', 'method', 'params', 'result', 'error']);

type Members = ReadonlyMap<string, Span>;

/**
 * The members of a message that mean something to us. Undefined when it is no plain object, when it does
 * not end where its last brace stands, or when a member stands there twice or in disguise: of two ids we
 * would read one and an agent the other.
 */
function readMembers(bytes: Buffer): Members | undefined {
  const members = new Map<string, Span>();
  let at = skipBlanks(bytes, 0);
  if (bytes[at] !== OPEN) return undefined;
  do {
    const member = readMember(bytes, skipBlanks(bytes, at + 1));
    if (member === undefined || members.has(member.key)) return undefined;
    if (NAMES.has(member.key)) members.set(member.key, member.value);
    at = skipBlanks(bytes, member.value.end);
  } while (bytes[at] === COMMA);
  return bytes[at] === CLOSE && skipBlanks(bytes, at + 1) === bytes.length ? members : undefined;
}

function readMember(bytes: Buffer, at: number): { key: string; value: Span } | undefined {
  const key = readKey(bytes, at);
  if (key === undefined) return undefined;
  const { name, behind: start } = key;
  const end = opensValue(bytes[start]) ? endOfNested(bytes, start) : endOfScalar(bytes, start);
  return end < 0 ? undefined : { key: name, value: { start, end } };
}

/** The key that begins at `at` and where its value does; undefined for one that is written with an escape. */
function readKey(bytes: Buffer, at: number): { name: string; behind: number } | undefined {
  if (bytes[at] !== QUOTE) return undefined;
  const end = endOfString(bytes, at);
  const name = bytes.toString('latin1', at + 1, end - 1);
  const colon = skipBlanks(bytes, end);
  if (end < 0 || name.includes('\\') || bytes[colon] !== COLON) return undefined;
  return { name, behind: skipBlanks(bytes, colon + 1) };
}

/** Longer messages are not walked when their ends say enough; a walk costs about a millisecond a megabyte. */
const WALKED_BYTES = 16 * 1024;
const VERSION_MEMBER = ',"jsonrpc":"2.0"';

/**
 * A long answer's outline from its two ends, where servers put the id. Undefined unless it is certain: the
 * word `"id"` must stand nowhere else and nothing may be written in escapes, for of two ids an agent
 * might read the other.
 */
function scanEnds(bytes: Buffer): Scanned | undefined {
  const head = readHead(bytes);
  if (head === undefined || indexOfText(bytes, '\\u00') >= 0) return undefined;
  const trailing = trailingId(bytes);
  const id = head.id ?? trailing;
  if (id === undefined || (head.id !== undefined && trailing !== undefined)) return undefined;
  const before = id.start - 1;
  if (
    indexOfText(bytes, '"id"', head.id === undefined ? 0 : id.end) !==
    (head.id === undefined ? bytes.lastIndexOf('"id"', before) : -1)
  )
    return undefined;
  // A second result would be the one that an agent reads, without the label that goes into the first.
  if (indexOfText(bytes, '"result"', head.payload) >= 0) return undefined;
  let end = behindBlanks(bytes, bytes.length) - 1;
  if (bytes[end] !== CLOSE) return undefined;
  if (head.id === undefined) end = behindBlanks(bytes, bytes.lastIndexOf('"id"', before)) - 1;
  end = behindBlanks(bytes, end);
  if (bytes.toString('latin1', end - VERSION_MEMBER.length, end) === VERSION_MEMBER) end -= VERSION_MEMBER.length;
  return closesValue(bytes[end - 1])
    ? { kind: 'result', id, payload: { start: head.payload, end }, isPlain: true }
    : undefined;
}

/** The members before a result that is an object or array; undefined when there is anything else. */
function readHead(bytes: Buffer): { id: Span | undefined; payload: number } | undefined {
  let at = skipBlanks(bytes, 0);
  let id: Span | undefined;
  if (bytes[at] !== OPEN) return undefined;
  for (;;) {
    const key = readKey(bytes, skipBlanks(bytes, at + 1));
    if (key === undefined) return undefined;
    if (key.name === 'result') return opensValue(bytes[key.behind]) ? { id, payload: key.behind } : undefined;
    const end = opensValue(bytes[key.behind]) ? -1 : endOfScalar(bytes, key.behind);
    if (end < 0 || (key.name !== 'jsonrpc' && key.name !== 'id') || (key.name === 'id' && id !== undefined))
      return undefined;
    if (key.name === 'id') id = { start: key.behind, end };
    at = skipBlanks(bytes, end);
    if (bytes[at] !== COMMA) return undefined;
  }
}

const closesValue = (byte: number | undefined): boolean => byte === CLOSE || byte === 0x5d;

/** Reads a message's outline; undefined when it is no plain JSON-RPC object or cannot be told cheaply. */
export function scan(bytes: Buffer): Scanned | undefined {
  const quick = bytes.length > WALKED_BYTES ? scanEnds(bytes) : undefined;
  if (quick !== undefined) return quick;
  const members = readMembers(bytes);
  if (members === undefined) return undefined;
  const [id, result, error] = [members.get('id'), members.get('result'), members.get('error')];
  if (members.has('method'))
    return result === undefined && error === undefined
      ? { kind: 'call', id, payload: members.get('params') }
      : undefined;
  if (id === undefined || !opensId(bytes[id.start]) || (result === undefined) === (error === undefined))
    return undefined;
  return { kind: error === undefined ? 'result' : 'error', id, payload: result ?? error };
}

/** A string, a number, or the null of an answer to something unreadable (JSON-RPC 2.0 §5). */
const opensId = (byte: number | undefined): boolean =>
  byte === QUOTE || byte === MINUS || byte === NULL || isDigit(byte);

/**
 * Whose answer it was, of a message that was too long to be kept: `ends` holds its first and last bytes.
 * An id before the payload, or one that is the last member.
 */
export function idAtEnds(ends: Buffer): Span | undefined {
  let at = skipBlanks(ends, 0);
  while (bytesOpenMember(ends, at)) {
    const member = readKey(ends, skipBlanks(ends, at + 1));
    if (member === undefined || opensValue(ends[member.behind])) break;
    const end = endOfScalar(ends, member.behind);
    if (end < 0) break;
    if (member.name === 'id') return { start: member.behind, end };
    at = skipBlanks(ends, end);
  }
  return trailingId(ends);
}

const bytesOpenMember = (bytes: Buffer, at: number): boolean => bytes[at] === OPEN || bytes[at] === COMMA;

/**
 * The last brace of a document is its outermost one, so the member right before it is a member of the
 * message itself, whatever the payload holds. Digits only; the ids that we send upstream are numbers.
 */
function trailingId(bytes: Buffer): Span | undefined {
  let at = behindBlanks(bytes, bytes.length);
  if (bytes[at - 1] !== CLOSE) return undefined;
  const end = behindBlanks(bytes, at - 1);
  at = end;
  while (isDigit(bytes[at - 1])) at--;
  const start = at;
  at = behindBlanks(bytes, at);
  if (start === end || bytes[at - 1] !== COLON) return undefined;
  at = behindBlanks(bytes, at - 1);
  // `"id"` preceded by a comma: with an escaped quote in front it could be the tail of a string.
  if (at < 5 || bytes.toString('latin1', at - 4, at) !== '"id"') return undefined;
  return bytes[behindBlanks(bytes, at - 4) - 1] === COMMA ? { start, end } : undefined;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** The index behind the last byte before `at` that is no blank. */
function behindBlanks(bytes: Buffer, at: number): number {
  while (at > 0 && isBlank(bytes[at - 1])) at--;
  return at;
}
