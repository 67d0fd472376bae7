// An answer as it came: bytes, and where its id and payload stand. Its id is the one we sent; the
// agent's own is put in its place on the way out, and nothing else is touched.
import { isUtf8 } from 'node:buffer';
import { ProxyError } from '../shared/errors.ts';
import { indexOfText } from './find-text.ts';
import { findMember, isBlank } from './json-bytes.ts';
import { endOfValue, smallValue } from './json-walk.ts';
import { type Scanned, type Span, scan } from './scan.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON in plain ASCII, so that it may be put into text of any encoding, bytes seen as latin1 included. */
export function asciiJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  if (typeof value === 'number') return json;
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Parts that make up a message when written one after another. */
export type Parts = readonly (Buffer | string)[];

/** A change to the bytes: `remove` of them at `at` give way to `text`. */
export interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly text: string;
}

/** A letter, a dot, a slash or an underline as an escape. */
const DISGUISED = /\\u00(?:2[ef]|5f|[46][1-9a-f]|[57][0-9a])/i;

const HEAD = '{"jsonrpc":"2.0","id":';
const END = Buffer.from('}');

/** Parsed at once, and only so far: a parse holds everybody else up, for a megabyte of many small members 50 ms. */
const MAX_PARSED_BYTES = 1024 * 1024;

const broken = (why: string): ProxyError => new ProxyError('upstream_protocol', `The server's answer is ${why}.`);

export class Reply {
  readonly bytes: Buffer;
  readonly isError: boolean;
  /** Text of the id as it stands in the bytes. */
  readonly idText: string;
  readonly #scanned: Scanned;
  #isDisguised: boolean | undefined;
  #mayHaveMeta: boolean | undefined;

  private constructor(bytes: Buffer, scanned: Scanned) {
    this.bytes = bytes;
    this.#scanned = scanned;
    this.isError = scanned.kind === 'error';
    if (scanned.isPlain === true) this.#isDisguised = false;
    this.idText = scanned.id === undefined ? '' : bytes.toString('latin1', scanned.id.start, scanned.id.end);
  }

  /**
   * Reads one message. Undefined when it is no answer but a request or notification of the server.
   * Throws `upstream_protocol` when it is neither.
   */
  static from(input: Buffer): Reply | undefined {
    // A stray byte must not reach an agent's strict decoder; JSON is UTF-8 (RFC 8259 §8.1).
    const bytes = isUtf8(input) ? input : repaired(input);
    const scanned = scan(bytes);
    if (scanned === undefined) return Reply.#parsed(bytes);
    return scanned.kind === 'call' ? undefined : new Reply(bytes, scanned);
  }

  /** An answer of our own making, or one that had to be changed. */
  static of(id: number | string, payload: { result: unknown } | { error: unknown }): Reply {
    const kind = 'error' in payload ? 'error' : 'result';
    const idText = JSON.stringify(id);
    const text = JSON.stringify('error' in payload ? payload.error : payload.result) ?? 'null';
    const head = Buffer.from(`{"jsonrpc":"2.0","id":${idText},"${kind}":`);
    const bytes = Buffer.concat([head, Buffer.from(`${text}}`)]);
    const end = head.length - kind.length - 4;
    return new Reply(bytes, {
      kind,
      id: { start: end - Buffer.byteLength(idText), end },
      payload: { start: head.length, end: bytes.length - 1 },
    });
  }

  static #parsed(bytes: Buffer): Reply | undefined {
    if (bytes.length > MAX_PARSED_BYTES) throw broken('too large to be written in this way');
    const message = parseObject(bytes);
    if (typeof message['method'] === 'string') return undefined;
    const id = message['id'];
    if (typeof id !== 'number' && typeof id !== 'string' && id !== null) throw broken('without an id');
    if (message['error'] !== undefined) return Reply.of(id ?? 'null', { error: message['error'] });
    if (message['result'] === undefined) throw broken('neither a result nor an error');
    return Reply.of(id ?? 'null', { result: message['result'] });
  }

  /**
   * The result or the error, parsed. For answers that we have to understand, and that are no larger than can be
   * parsed without being felt by others; throws `upstream_protocol`.
   */
  payload(): unknown {
    if (this.bytes.length > MAX_PARSED_BYTES)
      throw broken(`larger than ${MAX_PARSED_BYTES} bytes, which is too large here`);
    return parseObject(this.bytes)[this.isError ? 'error' : 'result'];
  }

  /** Where member `key` of the result's object has its value; undefined when it has none of its own. */
  memberAt(key: string): number | undefined {
    return this.objectAt === undefined ? undefined : findMember(this.bytes, this.objectAt, key);
  }

  /** Member `key` of the payload, parsed, where it has at most `maxBytes`; the rest of the payload may be of any size. */
  smallMember(key: string, maxBytes: number): unknown {
    const at = this.memberAt(key);
    return at === undefined ? undefined : smallValue(this.bytes, at, maxBytes);
  }

  /** An edit that puts `text` in the place of the value that begins at `at`. */
  replaceValue(at: number, text: string): Edit {
    return { at, remove: Math.max(0, endOfValue(this.bytes, at) - at), text };
  }

  /** Where the payload stands in the bytes. */
  get payloadSpan(): Span | undefined {
    return this.#scanned.payload;
  }

  /** Bytes of the payload as it was sent. */
  get payloadBytes(): number {
    const { payload } = this.#scanned;
    return payload === undefined ? 0 : payload.end - payload.start;
  }

  /** The same answer with another result, JSON text. */
  withResult(json: Buffer): Reply {
    const head = Buffer.from(`{"jsonrpc":"2.0","id":${this.idText},"result":`, 'latin1');
    const payload = { start: head.length, end: head.length + json.length };
    const id = { start: HEAD.length, end: HEAD.length + this.idText.length };
    return new Reply(Buffer.concat([head, json, END]), { kind: 'result', id, payload });
  }

  /** The same answer with another error. */
  withError(error: JsonObject): Reply {
    return Reply.of(Number(this.idText), { error });
  }

  /** Whether a name that begins so occurs anywhere; no means certainly absent, yes may be in a text. */
  mentions(name: string): boolean {
    // Without the quote: it is the most frequent byte there is, and looking for it first costs most.
    return indexOfText(this.bytes, name) >= 0 || this.#mayDisguise();
  }

  /** Whether a `_meta` may stand anywhere; asked several times over each result. */
  get mayHaveMeta(): boolean {
    return (this.#mayHaveMeta ??= this.mentions('_meta'));
  }

  /** Letters of a name may be written as escapes; hardly anyone does, and who does may have a reason. */
  #mayDisguise(): boolean {
    return (this.#isDisguised ??= this.bytes.indexOf('\\u00') >= 0 && DISGUISED.test(this.bytes.toString('latin1')));
  }

  /** Where the result's object begins; undefined when the result is no object. */
  get objectAt(): number | undefined {
    const at = this.#scanned.payload?.start;
    return at !== undefined && this.bytes[at] === 0x7b ? at : undefined;
  }

  /** An edit that puts members (JSON text such as `"a":1`) first into the object that begins at `at`. */
  insertInto(at: number, members: string): Edit {
    if (members === '') return { at: at + 1, remove: 0, text: '' };
    let next = at + 1;
    while (isBlank(this.bytes[next])) next++;
    return { at: at + 1, remove: 0, text: this.bytes[next] === 0x7d ? members : `${members},` };
  }

  /** The message with the agent's id in place of ours, and with the edits made. */
  parts(idText: string, edits: readonly Edit[] = []): Parts {
    const { id } = this.#scanned;
    if (id === undefined) return [this.bytes];
    const own = { at: id.start, remove: id.end - id.start, text: idText };
    if (edits.length === 0) return [this.bytes.subarray(0, own.at), idText, this.bytes.subarray(id.end)];
    const parts: (Buffer | string)[] = [];
    let from = 0;
    for (const edit of [own, ...edits].sort((a, b) => a.at - b.at)) {
      parts.push(this.bytes.subarray(from, edit.at), edit.text);
      from = edit.at + edit.remove;
    }
    parts.push(this.bytes.subarray(from));
    return parts;
  }
}

/** Strays of another encoding are forgiven where that costs little. */
function repaired(bytes: Buffer): Buffer {
  if (bytes.length > MAX_PARSED_BYTES) throw broken('not UTF-8');
  return Buffer.from(bytes.toString('utf8'));
}

function parseObject(bytes: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw broken('not JSON');
  }
  if (!isJsonObject(value)) throw broken('not a JSON-RPC message');
  return value;
}
