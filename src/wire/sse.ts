// Server-sent events in and out. Text is latin1 here: one character a byte, so that bytes pass
// through string operations unharmed and a character split between chunks needs no care.
// (WHATWG HTML, server-sent events, parsing an event stream)
import { ProxyError } from '../shared/errors.ts';
import { BytePile } from './byte-pile.ts';

export interface SseEvent {
  readonly data: string;
  readonly type: string | undefined;
  readonly id: string | undefined;
}

const LF = '\n';
/** How nearly all events of MCP servers begin; with one line behind it there is nothing left to read. */
const USUAL_HEAD = 'event: message\ndata: ';
const BARE_HEAD = 'data: ';
const BOM = '\u00ef\u00bb\u00bf';

export class SseReader {
  readonly #maxEventBytes: number;
  readonly #onEvent: (event: SseEvent) => void;
  /** Pieces of the event that has not ended yet; joined only when its end was seen. */
  readonly #pieces = new BytePile();
  #size = 0;
  #endsWithLf = false;
  #skipLf = false;
  /** What came while it could still be a byte order mark; undefined once that is settled. */
  #opening: string | undefined = '';
  /** Last `retry:` seen, in ms; undefined until one came. */
  retryMs: number | undefined;
  lastEventId: string | undefined;
  /** Blocks read so far, also those that were no events: each costs time. */
  blocks = 0;

  /** @param maxEventBytes an event longer than this throws `upstream_protocol` from `push` */
  constructor(maxEventBytes: number, onEvent: (event: SseEvent) => void) {
    this.#maxEventBytes = maxEventBytes;
    this.#onEvent = onEvent;
  }

  /** Takes the next bytes; calls back for each event that is complete. An unfinished one at the end is dropped. */
  push(chunk: Buffer): void {
    const raw = chunk.toString('latin1');
    let text = this.#normalised(raw);
    if (text === '') return;
    if (this.#endsWithLf && text.startsWith(LF)) {
      this.#finish('');
      text = text.slice(1);
    }
    let from = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', from)) {
      this.#finish(text.slice(from, end));
      from = end + 2;
    }
    if (from === 0 && text === raw) this.#keep(text, chunk);
    else if (from < text.length) this.#keep(text.slice(from), Buffer.from(text.slice(from), 'latin1'));
  }

  /** CR and CRLF become LF, also when a chunk border falls between the two. */
  #normalised(raw: string): string {
    let text = this.#withoutMark(raw);
    if (text === '') return '';
    if (this.#skipLf && text.startsWith(LF)) text = text.slice(1);
    this.#skipLf = raw.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, LF) : text;
  }

  /** A mark at the very beginning is no part of the text, also when it comes byte by byte. */
  #withoutMark(raw: string): string {
    if (this.#opening === undefined) return raw;
    const text = this.#opening + raw;
    const isUndecided = text.length < BOM.length && BOM.startsWith(text);
    this.#opening = isUndecided ? text : undefined;
    if (isUndecided) return '';
    return text.startsWith(BOM) ? text.slice(BOM.length) : text;
  }

  /** `bytes` are those of `text`. */
  #keep(text: string, bytes: Buffer): void {
    this.#size += text.length;
    if (this.#size > this.#maxEventBytes)
      throw new ProxyError('upstream_protocol', `The server sent an event of more than ${this.#maxEventBytes} bytes.`);
    this.#pieces.add(bytes);
    this.#endsWithLf = text.endsWith(LF);
  }

  #finish(last: string): void {
    this.blocks++;
    const block = this.#pieces.isEmpty ? last : this.#pieces.take().toString('latin1') + last;
    this.#size = 0;
    this.#endsWithLf = false;
    if (block.length > this.#maxEventBytes)
      throw new ProxyError('upstream_protocol', `The server sent an event of more than ${this.#maxEventBytes} bytes.`);
    if (block !== '') this.#dispatch(block);
  }

  #dispatch(block: string): void {
    const type = block.startsWith(USUAL_HEAD) ? 'message' : undefined;
    const head = type === undefined ? BARE_HEAD : USUAL_HEAD;
    const isPlain = block.length > head.length && block.startsWith(head) && !block.includes(LF, head.length);
    if (isPlain) this.#onEvent({ data: block.slice(head.length), type, id: undefined });
    else this.#read(block);
  }

  #read(block: string): void {
    let data: string | undefined;
    let type: string | undefined;
    let id: string | undefined;
    for (const line of block.split(LF)) {
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value =
        colon < 0 ? '' : line.charCodeAt(colon + 1) === 0x20 ? line.slice(colon + 2) : line.slice(colon + 1);
      if (field === 'data') data = data === undefined ? value : `${data}${LF}${value}`;
      else if (field === 'event') type = value;
      else if (field === 'id' && !value.includes('\u0000')) id = value;
      else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    }
    if (id !== undefined) this.lastEventId = id;
    // An event without data (a priming event, a keep-alive) only carries its id.
    if (data !== undefined && data !== '') this.#onEvent({ data, type, id });
  }
}

/** One event of the default type around a message that holds no line break (JSON text never needs one). */
export const eventOf = (message: string): string => `event: message\ndata: ${message}\n\n`;
