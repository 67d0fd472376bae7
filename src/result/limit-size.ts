// Cuts a tool result that is larger than the server's limit, at a safe place, and tells the model how
// much is missing. Text is cut between characters; what cannot be halved (images, structured content)
// is left out whole. The result with its note fits the limit. All of it happens on the bytes: to parse
// what is too large to be passed on would hold everybody else up.
import { ProxyError } from '../shared/errors.ts';
import { endOfString, isKey, OPEN, OPEN_LIST, QUOTE } from '../wire/json-bytes.ts';
import { cutInString, eachElement, eachMember, smallValue } from '../wire/json-walk.ts';

/** Kept for the note; a limit smaller than this leaves nothing but the note. */
const NOTE_BYTES = 200;
/** A block's kind is read so far; it is shown shorter. */
const KIND_BYTES = 400;
const KIND_SHOWN = 60;
/** `"structuredContent":` and the comma before it. */
const STRUCTURE_HEAD = Buffer.from(',"structuredContent":');
const STRUCTURE_ROOM = 24;
const EMPTY = Buffer.from('{"content":[]}');

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Outline {
  /** Members that are neither content nor structured content, key and value, with their commas. */
  readonly rest: readonly Buffer[];
  readonly isError: boolean;
  readonly content: Span | undefined;
  readonly structured: Span | undefined;
}

/**
 * Throws `upstream_protocol` when the bytes are no JSON object.
 * @param result JSON text of the result
 * @param maxBytes of it, the note included; below about 200 only the note remains
 */
export function limitSize(result: Buffer, maxBytes: number): Buffer {
  const { rest, isError, content, structured } = outline(result, maxBytes / 4);
  let left = maxBytes - EMPTY.length - NOTE_BYTES - rest.reduce((sum, { length }) => sum + length, 0);
  const isKept = structured !== undefined && structured.end - structured.start + STRUCTURE_ROOM <= left / 2;
  if (isKept) left -= structured.end - structured.start + STRUCTURE_ROOM;
  const blocks: Buffer[] = [];
  let misses = 0;
  const keep = (start: number, end: number): boolean => {
    const part = fitBlock(result, start, end, left);
    if (part === undefined) return ++misses > MAX_MISSES;
    blocks.push(part);
    left -= part.length + 1;
    return false;
  };
  if (content !== undefined && result[content.start] === OPEN_LIST && !eachElement(result, content.start, keep))
    throw notJson();
  const kept = isKept ? Buffer.concat([STRUCTURE_HEAD, result.subarray(structured.start, structured.end)]) : NOTHING;
  const isLost = structured !== undefined && !isKept;
  const keptBytes = assemble(rest, blocks, kept, isError).length;
  blocks.push(note(result.length - keptBytes, result.length, isLost));
  // A declared output schema would be broken without saying why; an error needs no structure.
  return assemble(rest, blocks, kept, isError || isLost);
}

const NOTHING = Buffer.alloc(0);
const COMMA = Buffer.from(',');
const COLON = Buffer.from(':');

const notJson = (): ProxyError => new ProxyError('upstream_protocol', "The server's answer is not JSON.");

/** Of a result whose other members are more than `restBytes` only what its receiver needs to read it at all is kept. */
function outline(result: Buffer, restBytes: number): Outline {
  const rest: Buffer[] = [];
  let bytes = 0;
  let isError = false;
  let [resultType, content, structured]: (Span | undefined)[] = [];
  const isObject = eachMember(result, 0, (key, keyEnd, start, end) => {
    if (isKey(result, key, keyEnd, 'content')) content = { start, end };
    else if (isKey(result, key, keyEnd, 'structuredContent')) structured = { start, end };
    else if (isKey(result, key, keyEnd, 'isError')) isError = result.toString('latin1', start, end) === 'true';
    else {
      if (isKey(result, key, keyEnd, 'resultType')) resultType = { start, end };
      if (bytes > restBytes) return;
      bytes += end - key + 1;
      rest.push(Buffer.concat([result.subarray(key, keyEnd), COLON, result.subarray(start, end), COMMA]));
    }
  });
  if (!isObject) throw notJson();
  return { rest: bytes > restBytes ? leastOf(result, resultType) : rest, isError, content, structured };
}

const LONGEST_TYPE = 42;

function leastOf(result: Buffer, type: Span | undefined): readonly Buffer[] {
  if (type === undefined || result[type.start] !== QUOTE || type.end - type.start > LONGEST_TYPE) return [];
  return [Buffer.from(`"resultType":${result.toString('utf8', type.start, type.end)},`)];
}

function assemble(rest: readonly Buffer[], blocks: readonly Buffer[], structured: Buffer, isError: boolean): Buffer {
  const parts: Buffer[] = [Buffer.from('{'), ...rest];
  parts.push(Buffer.from(`${isError ? '"isError":true,' : ''}"content":[`));
  for (const [nth, block] of blocks.entries()) {
    if (nth > 0) parts.push(COMMA);
    parts.push(block);
  }
  parts.push(Buffer.from(']'), structured, Buffer.from('}'));
  return Buffer.concat(parts);
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

/** The block, or what of it goes into `room` bytes; undefined when nothing does. */
function fitBlock(result: Buffer, start: number, end: number, room: number): Buffer | undefined {
  if (end - start + 1 <= room) return result.subarray(start, end);
  if (room < LEAST_BLOCK || result[start] !== OPEN) return undefined;
  let [text, type, mime]: (number | undefined)[] = [];
  eachMember(result, start, (key, keyEnd, value) => {
    if (isKey(result, key, keyEnd, 'text')) text = value;
    else if (isKey(result, key, keyEnd, 'type')) type = value;
    else if (isKey(result, key, keyEnd, 'mimeType')) mime = value;
  });
  const kind = type === undefined ? undefined : smallValue(result, type, KIND_BYTES);
  if (kind === 'text' && text !== undefined && result[text] === QUOTE)
    return cutText(result, { start, end }, text, room);
  const mimeType = mime === undefined ? undefined : smallValue(result, mime, KIND_BYTES);
  const shown = (typeof mimeType === 'string' ? mimeType : String(kind)).slice(0, KIND_SHOWN);
  const stand = textBlock(`[${shown} of ${end - start} bytes left out]`);
  return stand.length + 1 <= room ? stand : undefined;
}

/** The block with less of its text, whose value begins at `text`. */
function cutText(result: Buffer, block: Span, text: number, room: number): Buffer | undefined {
  const from = text + 1;
  const behind = endOfString(result, text);
  const around = block.end - block.start - (behind - 1 - from);
  const end = cutInString(result, from, Math.min(room - 1 - around, behind - 1 - from));
  if (room - 1 - around <= 0 || end === from) return undefined;
  return Buffer.concat([result.subarray(block.start, end), result.subarray(behind - 1, block.end)]);
}
