// Cuts a tool result that is larger than the server's limit, at a safe place, and tells the model how
// much is missing. Text is cut between characters; what cannot be halved (images, structured content)
// is left out whole. The result with its note fits the limit. All of it happens on the bytes: to parse
// what is too large to be passed on would hold everybody else up.
import { ProxyError } from '../shared/errors.ts';
import { isKey, OPEN, OPEN_LIST, QUOTE } from '../wire/json-bytes.ts';
import { cutInString, eachElement, eachMember, smallValue } from '../wire/json-walk.ts';
import { Runs } from './runs.ts';

/** Kept for the note; a limit smaller than this leaves nothing but the note. */
const NOTE_BYTES = 200;
/** A block's kind is read so far; it is shown shorter. */
const KIND_BYTES = 400;
const KIND_SHOWN = 60;
/** So many blocks are looked at; what stands behind them counts as missing. */
const MAX_BLOCKS = 50_000;
/** Three members at most divide the others, unless they come again and again. */
const MAX_RUNS = 3;
/** `"structuredContent":` and the comma before it. */
const STRUCTURE_HEAD = Buffer.from(',"structuredContent":');
const STRUCTURE_ROOM = 24;
const EMPTY = Buffer.from('{"content":[]}');

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Outline {
  /** Members that are neither content nor structured content, as they stand, those side by side as one. */
  readonly rest: readonly Buffer[];
  readonly isError: boolean;
  readonly content: Span | undefined;
  readonly structured: Span | undefined;
  /** There is more than is looked at: nobody knows what. */
  readonly isCutShort: boolean;
}

/**
 * Throws `upstream_protocol` when the bytes are no JSON object.
 * @param result JSON text of the result
 * @param maxBytes of it, the note included; below about 200 only the note remains
 */
export function limitSize(result: Buffer, maxBytes: number): Buffer {
  const { rest, isError, content, structured, isCutShort } = outline(result, maxBytes / 4);
  let left = maxBytes - EMPTY.length - NOTE_BYTES - rest.reduce((sum, { length }) => sum + length + 1, 0);
  const isKept = structured !== undefined && structured.end - structured.start + STRUCTURE_ROOM <= left / 2;
  if (isKept) left -= structured.end - structured.start + STRUCTURE_ROOM;
  const blocks = content === undefined ? [] : fitContent(result, content, left);
  const kept = isKept ? Buffer.concat([STRUCTURE_HEAD, result.subarray(structured.start, structured.end)]) : NOTHING;
  // Perhaps it was an error, or had a structure: what is not looked at must not pass for a good result.
  const isLost = isCutShort || (structured !== undefined && !isKept);
  const keptBytes = assemble(rest, blocks, kept, isError).reduce((sum, { length }) => sum + length, 0);
  const noted = [...blocks, note(result.length - keptBytes, result.length, isLost)];
  // A declared output schema would be broken without saying why; an error needs no structure.
  return Buffer.concat(assemble(rest, noted, kept, isError || isLost));
}

const NOTHING = Buffer.alloc(0);
const COMMA = Buffer.from(',');

const notJson = (): ProxyError => new ProxyError('upstream_protocol', "The server's answer is not JSON.");

/** So many members are looked at, of a result and of all its blocks together; what stands behind them counts as missing. */
const MAX_MEMBERS = 10_000;
const APART = ['content', 'structuredContent', 'isError'];

/** Of a result whose other members are more than `restBytes` only what its receiver needs to read it at all is kept. */
function outline(result: Buffer, restBytes: number): Outline {
  const rest = new Runs(result);
  let bytes = 0;
  let seen = 0;
  let isError = false;
  let [resultType, content, structured]: (Span | undefined)[] = [];
  const isObject = eachMember(result, 0, (key, keyEnd, start, end) => {
    const name = APART.find((one) => isKey(result, key, keyEnd, one));
    if (name === undefined) {
      if (isKey(result, key, keyEnd, 'resultType')) resultType = { start, end };
      if (bytes > restBytes || rest.closed > MAX_RUNS) return ++seen >= MAX_MEMBERS;
      bytes += rest.growth(key, end);
      rest.add(key, end);
      return ++seen >= MAX_MEMBERS;
    }
    rest.close();
    if (name === 'content') content = { start, end };
    else if (name === 'structuredContent') structured = { start, end };
    else isError = result.toString('latin1', start, end) === 'true';
    return ++seen >= MAX_MEMBERS;
  });
  if (!isObject) throw notJson();
  const isCrowded = bytes > restBytes || rest.closed > MAX_RUNS;
  const isCutShort = seen >= MAX_MEMBERS;
  return { rest: isCrowded ? leastOf(result, resultType) : rest.end(), isError, content, structured, isCutShort };
}

const LONGEST_TYPE = 42;

function leastOf(result: Buffer, type: Span | undefined): readonly Buffer[] {
  if (type === undefined || result[type.start] !== QUOTE || type.end - type.start > LONGEST_TYPE) return [];
  return [Buffer.from(`"resultType":${result.toString('utf8', type.start, type.end)}`)];
}

/** What of the content goes into `room` bytes: whole blocks as they stand, and what is left of those too large. */
function fitContent(result: Buffer, content: Span, room: number): readonly Buffer[] {
  if (result[content.start] !== OPEN_LIST) return [];
  const blocks = new Runs(result);
  const budget = { members: MAX_MEMBERS };
  let left = room;
  let [seen, misses] = [0, 0];
  const keep = (start: number, end: number): boolean => {
    seen++;
    // Perhaps it fits without the blanks before it.
    if (blocks.growth(start, end) > left) blocks.close();
    const bytes = blocks.growth(start, end);
    if (bytes <= left) {
      left -= bytes;
      blocks.add(start, end);
      return seen >= MAX_BLOCKS;
    }
    const part = cutBlock(result, start, end, left, budget);
    if (part === undefined) return ++misses > MAX_MISSES;
    left -= part.length + 1;
    blocks.put(part);
    return seen >= MAX_BLOCKS;
  };
  if (!eachElement(result, content.start, keep)) throw notJson();
  return blocks.end();
}

/** The parts of the result, to be put together. */
function assemble(
  rest: readonly Buffer[],
  blocks: readonly Buffer[],
  structured: Buffer,
  isError: boolean,
): readonly Buffer[] {
  const parts: Buffer[] = [Buffer.from('{')];
  for (const members of rest) parts.push(members, COMMA);
  parts.push(Buffer.from(`${isError ? '"isError":true,' : ''}"content":[`));
  for (const [nth, block] of blocks.entries()) {
    if (nth > 0) parts.push(COMMA);
    parts.push(block);
  }
  parts.push(Buffer.from(']'), structured, Buffer.from('}'));
  return parts;
}

function note(missing: number, original: number, lostStructure: boolean): Buffer {
  const structure = lostStructure ? ' Structured content left out.' : '';
  return textBlock(`[Cut by the proxy: ${missing} of ${original} bytes are missing.${structure}]`);
}

const textBlock = (text: string): Buffer => Buffer.from(JSON.stringify({ type: 'text', text }));

/** Blocks that are looked at though they do not fit: a smaller one may follow, but not for ever. */
const MAX_MISSES = 1_000;
/** The least that can stand for a block; where less is left nothing of it is looked at. */
const LEAST_BLOCK = 40;

/** What of a block that is too large goes into `room` bytes; undefined when nothing does. */
function cutBlock(
  result: Buffer,
  start: number,
  end: number,
  room: number,
  budget: { members: number },
): Buffer | undefined {
  if (room < LEAST_BLOCK || result[start] !== OPEN || budget.members <= 0) return undefined;
  let text: Span | undefined;
  let [type, mime]: (number | undefined)[] = [];
  eachMember(result, start, (key, keyEnd, value, behind) => {
    if (isKey(result, key, keyEnd, 'text')) text = { start: value, end: behind };
    else if (isKey(result, key, keyEnd, 'type')) type = value;
    else if (isKey(result, key, keyEnd, 'mimeType')) mime = value;
    return --budget.members <= 0;
  });
  const kind = type === undefined ? undefined : smallValue(result, type, KIND_BYTES);
  if (kind === 'text' && text !== undefined && result[text.start] === QUOTE)
    return cutText(result, { start, end }, text, room);
  const mimeType = mime === undefined ? undefined : smallValue(result, mime, KIND_BYTES);
  const shown = (typeof mimeType === 'string' ? mimeType : String(kind)).slice(0, KIND_SHOWN);
  const stand = textBlock(`[${shown} of ${end - start} bytes left out]`);
  return stand.length + 1 <= room ? stand : undefined;
}

/** The block with less of its text. */
function cutText(result: Buffer, block: Span, text: Span, room: number): Buffer | undefined {
  const [from, behind] = [text.start + 1, text.end];
  const around = block.end - block.start - (behind - 1 - from);
  const end = cutInString(result, from, Math.min(room - 1 - around, behind - 1 - from));
  if (room - 1 - around <= 0 || end === from) return undefined;
  return Buffer.concat([result.subarray(block.start, end), result.subarray(behind - 1, block.end)]);
}
