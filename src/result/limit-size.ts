// Cuts a tool result that is larger than the server's limit, at a safe place, and tells the model how
// much is missing. Text is cut between characters; what cannot be halved (images, structured content)
// is left out whole. The result with its note fits the limit.
import { isJsonObject, type JsonObject } from '../wire/reply.ts';

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Kept for the note; a limit smaller than this leaves nothing but the note. */
const NOTE_BYTES = 200;

/** @param maxBytes bytes of the result's JSON, the note included; below about 200 only the note remains */
export function limitSize(result: JsonObject, maxBytes: number): JsonObject {
  const original = sizeOf(result);
  const { content, structuredContent, ...rest } = result;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const frame = fits(rest, maxBytes / 4) ? rest : leastOf(result);
  let left = maxBytes - sizeOf({ ...frame, content: [] }) - NOTE_BYTES;
  const keptStructure = structuredContent !== undefined && sizeOf(structuredContent) + 24 <= left / 2;
  if (keptStructure) left -= sizeOf(structuredContent) + 24;
  const kept: unknown[] = [];
  for (const block of blocks) {
    const part = fitBlock(block, left);
    if (part === undefined) continue;
    kept.push(part);
    left -= sizeOf(part) + 1;
  }
  const lostStructure = structuredContent !== undefined && !keptStructure;
  const missing = original - sizeOf({ ...frame, content: kept, ...(keptStructure ? { structuredContent } : {}) });
  kept.push({ type: 'text', text: note(missing, original, lostStructure) });
  return {
    ...frame,
    content: kept,
    ...(keptStructure ? { structuredContent } : {}),
    // A declared output schema would be broken without saying why; an error needs no structure.
    ...(lostStructure ? { isError: true } : {}),
  };
}

/** What the receiver has to know to read the result at all. */
function leastOf({ resultType, isError }: JsonObject): JsonObject {
  return {
    ...(typeof resultType === 'string' && resultType.length <= 40 ? { resultType } : {}),
    ...(isError === true ? { isError } : {}),
  };
}

const fits = (value: unknown, bytes: number): boolean => sizeOf(value) <= bytes;

function note(missing: number, original: number, lostStructure: boolean): string {
  const structure = lostStructure ? ' Structured content left out.' : '';
  return `[Cut by the proxy: ${missing} of ${original} bytes are missing.${structure}]`;
}

/** The block, or what of it goes into `room` bytes; undefined when nothing does. */
function fitBlock(block: unknown, room: number): unknown {
  if (sizeOf(block) + 1 <= room) return block;
  if (!isJsonObject(block)) return undefined;
  if (block['type'] === 'text' && typeof block['text'] === 'string') return cutText(block, block['text'], room);
  const kind = typeof block['mimeType'] === 'string' ? block['mimeType'] : String(block['type']);
  const stand = { type: 'text', text: `[${kind.slice(0, 60)} of ${sizeOf(block)} bytes left out]` };
  return sizeOf(stand) + 1 <= room ? stand : undefined;
}

function cutText(block: JsonObject, text: string, room: number): unknown {
  const budget = room - 1 - sizeOf({ ...block, text: '' });
  if (budget <= 0) return undefined;
  const end = fittingLength(text, budget);
  return end === 0 ? undefined : { ...block, text: text.slice(0, end) };
}

/** How many UTF-16 units of `text` have a JSON form of at most `budget` bytes, never half a character. */
function fittingLength(text: string, budget: number): number {
  let low = 0;
  let high = Math.min(text.length, budget);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(text.slice(0, whole(text, middle))) - 2 <= budget) low = middle;
    else high = middle - 1;
  }
  return whole(text, low);
}

/** `end`, or one less where it would part a surrogate pair. */
function whole(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff && end < text.length ? end - 1 : end;
}
