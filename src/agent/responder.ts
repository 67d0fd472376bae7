// How one request is answered: as JSON, unless something has to be said before the answer; then the
// answer becomes the last event of a stream. An agent that takes no streams hears only the answer.
import type { ServerResponse } from 'node:http';
import type { AgentHearing } from '../proxy/operations.ts';
import type { Parts } from '../wire/reply.ts';
import { eventOf } from '../wire/sse.ts';
import { EMPTY_HEADERS, JSON_HEADERS, STREAM_HEADERS } from './answer-headers.ts';
import type { Accepted } from './negotiate.ts';

/** Written in one piece up to here; larger answers go part by part, uncopied. */
const ONE_WRITE_BYTES = 64 * 1024;
/** An answer of which nothing is read for so long is given up, its connection closed. */
const UNREAD_MS = 30_000;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;

/** A comment, which no client hands on (HTML §server-sent-events). */
const STILL_HERE = ': waiting\n\n';

export class Responder implements AgentHearing {
  readonly #response: ServerResponse;
  readonly #accepted: Accepted;
  readonly #unreadMs: number;
  #pending = '';
  #isStream = false;

  /** @param unreadMs how long nothing may be read of what is there */
  constructor(response: ServerResponse, accepted: Accepted, unreadMs = UNREAD_MS) {
    this.#response = response;
    this.#accepted = accepted;
    this.#unreadMs = unreadMs;
  }

  get isGone(): boolean {
    return this.#response.destroyed;
  }

  /** Whether anything can be said before the answer. */
  get takesEvents(): boolean {
    return this.#accepted.events;
  }

  message(raw: string): void {
    if (this.#accepted.events) this.#pending += eventOf(raw);
  }

  flush(): Promise<void> | undefined {
    if (this.#pending === '' || this.isGone) return undefined;
    this.#openStream();
    const text = this.#pending;
    this.#pending = '';
    if (this.#response.write(text, 'latin1')) return undefined;
    this.#letGoUnlessRead();
    return this.#drained();
  }

  stillHere(): void {
    if (!this.#accepted.events || this.isGone) return;
    this.#openStream();
    // Who has not read what is there needs no more of it.
    if (!this.#response.writableNeedDrain) this.#response.write(STILL_HERE);
  }

  progress(): void {
    // Nothing to do for the agent; the call's deadline hears of it.
  }

  /** The answer, and the end. `status` and `headers` count only where no stream was begun. */
  send(parts: Parts, status = 200, headers: readonly string[] = []): void {
    if (this.isGone) return;
    const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
    if (this.#isStream || !this.#accepted.json) this.#sendEvent(buffers);
    else this.#sendJson(buffers, status, headers);
  }

  /** Ends without an answer: the request was cancelled by the one who sent it. */
  endWithoutAnswer(): void {
    if (!this.#isStream) this.#response.writeHead(202, [...EMPTY_HEADERS]);
    this.#response.end();
  }

  #sendJson(buffers: readonly Buffer[], status: number, headers: readonly string[]): void {
    const length = buffers.reduce((sum, { length: bytes }) => sum + bytes, 0);
    this.#response.writeHead(status, [...JSON_HEADERS, 'content-length', String(length), ...headers]);
    if (length <= ONE_WRITE_BYTES) this.#response.end(Buffer.concat(buffers, length));
    else {
      this.#response.cork();
      for (const buffer of buffers) this.#response.write(buffer);
      this.#response.end();
      this.#response.uncork();
    }
    this.#letGoUnlessRead();
  }

  #sendEvent(buffers: readonly Buffer[]): void {
    this.#openStream();
    this.#response.write(`${this.#pending}event: message\ndata: `, 'latin1');
    this.#pending = '';
    for (const buffer of buffers) this.#response.write(onOneLine(buffer));
    this.#response.end('\n\n');
    this.#letGoUnlessRead();
  }

  #openStream(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    this.#response.writeHead(200, [...STREAM_HEADERS]);
  }

  /**
   * An agent that takes nothing of its answer for so long is gone, or means to keep it in our memory. Node looks
   * whether anything was taken; when all was it sets a time of its own.
   */
  #letGoUnlessRead(): void {
    const { socket } = this.#response;
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#unreadMs);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        // What comes next may be a long time coming.
        this.#response.socket?.setTimeout(0);
        resolve();
      };
      this.#response.on('drain', done);
      this.#response.on('close', done);
    });
  }
}

/** A line break would end the data line. JSON text that has one has it between members only, where a blank does as well. */
function onOneLine(buffer: Buffer): Buffer {
  if (!buffer.includes(LF) && !buffer.includes(CR)) return buffer;
  const line = Buffer.from(buffer);
  for (let i = 0; i < line.length; i++) if (line[i] === LF || line[i] === CR) line[i] = BLANK;
  return line;
}
