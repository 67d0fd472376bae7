// What a command says beside the protocol, fit for our own log: named, cut, masked, escaped and
// limited in rate, so that no command can flood it, forge a line in it or print a secret through it.
import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { LineReader, TAIL_BYTES } from './line-reader.ts';

const MAX_LINE_CHARS = 1_000;
/** A character is four bytes at most, so whatever is shown was read. */
const MAX_LINE_BYTES = 4 * MAX_LINE_CHARS;
const LINES_PER_SECOND = 50;
/** With the longest line this makes 64 KiB at most. */
const REMEMBERED_LINES = 64;
/** Masking shorter values would hide ordinary words and protect nobody. */
const SHORTEST_SECRET = 4;

export class StderrLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #secrets: readonly string[];
  readonly #longest: number;
  readonly #reader: LineReader;
  #recent: string[] = [];
  #second = 0;
  #inSecond = 0;
  #dropped = 0;

  constructor(clock: Clock, logger: Logger, secrets: readonly string[]) {
    this.#clock = clock;
    this.#logger = logger;
    this.#secrets = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
    this.#longest = this.#secrets[0]?.length ?? 0;
    this.#reader = new LineReader(MAX_LINE_BYTES, {
      line: (line) => this.#line('stderr', line),
      tooLong: (ends) => this.#line('stderr', ends.subarray(0, -TAIL_BYTES), true),
    });
  }

  /** Takes the bytes of stderr as they come. */
  push(chunk: Buffer): void {
    this.#reader.push(chunk);
  }

  /** A line on stdout that is no message. */
  stray(line: Buffer): void {
    this.#line('stdout', line);
  }

  /** The last lines, safe to log; for the cause of an error when the command fails. */
  get tail(): string {
    return this.#recent.join('\n');
  }

  #line(stream: 'stderr' | 'stdout', bytes: Buffer, isCut = false): void {
    const text = isCut
      ? this.#readable(bytes, true)
      : this.#readable(bytes.subarray(0, MAX_LINE_BYTES), bytes.length > MAX_LINE_BYTES);
    if (text === '') return;
    this.#recent.push(text);
    if (this.#recent.length > REMEMBERED_LINES) this.#recent.shift();
    if (!this.#isWithinRate()) {
      this.#dropped += 1;
      return;
    }
    this.#logger.debug(
      { stream, line: text, ...(this.#dropped > 0 ? { dropped: this.#dropped } : {}) },
      'command said',
    );
    this.#dropped = 0;
  }

  #readable(bytes: Buffer, isCut: boolean): string {
    let text = bytes.toString('utf8');
    for (const secret of this.#secrets) text = text.replaceAll(secret, '[secret]');
    // Where the bytes were cut, the beginning of a secret may stand at the end.
    if (isCut) text = text.slice(0, Math.max(0, text.length - this.#longest));
    return escapeControls(text.slice(0, MAX_LINE_CHARS));
  }

  #isWithinRate(): boolean {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond += 1;
    return this.#inSecond <= LINES_PER_SECOND;
  }
}

/** Control characters, line separators and bidirectional marks as `\uXXXX`. */
function escapeControls(text: string): string {
  // Control characters are what is escaped here.
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
