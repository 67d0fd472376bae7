// An answer as it came: bytes, and where its id and payload stand. Its id is the one we sent; the
// agent's own is put in its place on the way out, and nothing else is touched.
import { isUtf8 } from 'node:buffer';
import { ProxyError } from '../shared/errors.ts';
import { type Scanned, scan } from './scan.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parts that make up a message when written one after another. */
export type Parts = readonly (Buffer | string)[];

const broken = (why: string): ProxyError => new ProxyError('upstream_protocol', `The server's answer is ${why}.`);

export class Reply {
  readonly bytes: Buffer;
  readonly isError: boolean;
  /** Text of the id as it stands in the bytes. */
  readonly idText: string;
  readonly #scanned: Scanned;

  private constructor(bytes: Buffer, scanned: Scanned) {
    this.bytes = bytes;
    this.#scanned = scanned;
    this.isError = scanned.kind === 'error';
    this.idText = scanned.id === undefined ? '' : bytes.toString('latin1', scanned.id.start, scanned.id.end);
  }

  /**
   * Reads one message. Undefined when it is no answer but a request or notification of the server.
   * Throws `upstream_protocol` when it is neither.
   */
  static from(input: Buffer): Reply | undefined {
    // A stray byte must not reach an agent's strict decoder; JSON is UTF-8 (RFC 8259 §8.1).
    const bytes = isUtf8(input) ? input : Buffer.from(input.toString('utf8'));
    const scanned = scan(bytes);
    if (scanned?.kind === 'call') return undefined;
    if (scanned === undefined || !endsAsObject(bytes)) return Reply.#parsed(bytes);
    return new Reply(bytes, scanned);
  }

  /** An answer of our own making, or one that had to be changed. */
  static of(id: number | string, payload: { result: unknown } | { error: unknown }): Reply {
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...payload }));
    return new Reply(bytes, scan(bytes) as Scanned);
  }

  static #parsed(bytes: Buffer): Reply | undefined {
    const message = parseObject(bytes);
    if (typeof message['method'] === 'string') return undefined;
    const id = message['id'];
    if (typeof id !== 'number' && typeof id !== 'string' && id !== null) throw broken('without an id');
    if (message['error'] !== undefined) return Reply.of(id ?? 'null', { error: message['error'] });
    if (message['result'] === undefined) throw broken('neither a result nor an error');
    return Reply.of(id ?? 'null', { result: message['result'] });
  }

  /** The result or the error, parsed. For answers that we have to understand; throws `upstream_protocol`. */
  payload(): unknown {
    return parseObject(this.bytes)[this.isError ? 'error' : 'result'];
  }

  /** Bytes of the payload at most: the message without what stands before the payload. */
  get payloadBytes(): number {
    return this.bytes.length - (this.#scanned.payload ?? 0);
  }

  /** Whether `"name"` occurs anywhere; no means certainly absent, yes may be in a text. */
  mentions(name: string): boolean {
    return this.bytes.indexOf(`"${name}"`) >= 0;
  }

  /**
   * The message with the agent's id, and with `members` (JSON text such as `"a":1`) put first into a
   * result that is an object. Members must not be there already; see `mentions`.
   */
  parts(idText: string, members = ''): Parts {
    const { id, payload } = this.#scanned;
    if (id === undefined || payload === undefined) return [this.bytes];
    const insert = members !== '' && this.bytes[payload] === 0x7b ? this.#insertAt(payload + 1, members) : undefined;
    if (insert === undefined) return [this.bytes.subarray(0, id.start), idText, this.bytes.subarray(id.end)];
    const first = id.start < insert.at;
    const [a, b] = first ? [id, insert.span] : [insert.span, id];
    const [textA, textB] = first ? [idText, insert.text] : [insert.text, idText];
    return [this.bytes.subarray(0, a.start), textA, this.bytes.subarray(a.end, b.start), textB, this.bytes.subarray(b.end)];
  }

  #insertAt(at: number, members: string): { at: number; span: { start: number; end: number }; text: string } {
    let next = at;
    while (this.bytes[next] === 0x20 || this.bytes[next] === 0x0a || this.bytes[next] === 0x0d || this.bytes[next] === 0x09) next++;
    const isEmpty = this.bytes[next] === 0x7d;
    return { at, span: { start: at, end: at }, text: isEmpty ? members : `${members},` };
  }
}

function endsAsObject(bytes: Buffer): boolean {
  let at = bytes.length - 1;
  while (at > 0 && (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09)) at--;
  return bytes[at] === 0x7d;
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
