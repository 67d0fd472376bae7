// Reads server-sent events strictly as HTML §9.2 says, and lets a test wait for the n-th.
import type { Readable } from 'node:stream';
import { isObject, type JsonObject } from '../upstreams/message.ts';
import { Watched } from '../upstreams/watched.ts';

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

const MAX_TEXT = 1_000_000;

/** Splits off whole lines; a CR at the very end may still be half of a CRLF. */
function takeLines(text: string, isOver: boolean): { readonly lines: string[]; readonly rest: string } {
  const whole = !isOver && text.endsWith('\r') ? text.slice(0, -1) : text;
  const parts = whole.split(/\r\n|\r|\n/);
  const last = parts.pop() ?? '';
  return { lines: parts, rest: last + text.slice(whole.length) };
}

export class EventStream extends Watched {
  readonly events: StreamEvent[] = [];
  hasEnded = false;
  /** All of it as it came, up to a megabyte, and in how many pieces. */
  text = '';
  pieces = 0;
  readonly #source: Readable;
  #rest = '';
  #isFirst = true;
  /** Each event parsed once: whoever waits looks again at each piece, and there may be tens of thousands of them. */
  readonly #messages: JsonObject[] = [];
  #parsed = 0;
  #fields = new Map<string, string>();

  constructor(source: Readable) {
    super();
    this.#source = source;
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    source.on('data', (chunk: Buffer) => this.#take(decoder.decode(chunk, { stream: true }), false));
    source.on('error', () => {});
    source.on('close', () => {
      this.#take('', true);
      this.hasEnded = true;
      this.changed();
    });
  }

  /** JSON-RPC messages heard so far. */
  get messages(): readonly JsonObject[] {
    return [...this.#read()];
  }

  /** The n-th message, counted from 1; rejects when it has not come within five seconds. */
  async nth(n: number): Promise<JsonObject> {
    await this.until(() => this.#read().length >= n || this.hasEnded, `message ${n} of the stream`);
    const message = this.#messages[n - 1];
    if (message === undefined) throw new Error(`The stream ended before message ${n}`);
    return message;
  }

  /** The first message that fits. */
  async find(fits: (message: JsonObject) => boolean): Promise<JsonObject> {
    let looked = 0;
    let found: JsonObject | undefined;
    const look = (): void => {
      const messages = this.#read();
      found ??= messages.slice(looked).find(fits);
      looked = messages.length;
    };
    await this.until(() => {
      look();
      return found !== undefined || this.hasEnded;
    }, 'a message of the stream');
    if (found === undefined) throw new Error('The stream ended without that message');
    return found;
  }

  ended(): Promise<void> {
    return this.until(() => this.hasEnded, 'the stream to end');
  }

  close(): void {
    this.#source.destroy();
  }

  #read(): readonly JsonObject[] {
    for (const { data } of this.events.slice(this.#parsed)) {
      this.#parsed++;
      const message: unknown = data === '' ? undefined : JSON.parse(data);
      if (isObject(message)) this.#messages.push(message);
    }
    return this.#messages;
  }

  #take(text: string, isOver: boolean): void {
    if (this.text.length < MAX_TEXT) this.text += text;
    if (text !== '') this.pieces++;
    const fresh = this.#isFirst && text !== '' ? text.replace(/^\uFEFF/, '') : text;
    if (text !== '') this.#isFirst = false;
    const { lines, rest } = takeLines(this.#rest + fresh, isOver);
    this.#rest = rest;
    for (const line of lines) this.#line(line);
    this.changed();
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    const earlier = field === 'data' ? this.#fields.get('data') : undefined;
    this.#fields.set(field, earlier === undefined ? value : `${earlier}\n${value}`);
  }

  #dispatch(): void {
    const fields = this.#fields;
    this.#fields = new Map();
    const data = fields.get('data');
    if (data === undefined) return;
    this.events.push({ event: fields.get('event') ?? 'message', data, id: fields.get('id') });
  }
}
