// What a command says beside the protocol, fit for our own log: named, cut, masked, escaped and
// limited in rate, so that no command can flood it, forge a line in it or print a secret through it.
import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { createMask } from '../shared/mask.ts';
import { Secret } from '../shared/secret.ts';
import { formsOf } from '../shared/secret-forms.ts';
import { LineReader, TAIL_BYTES } from './line-reader.ts';

const MAX_LINE_CHARS = 1_000;
/** A character is four bytes at most, so whatever is shown was read. */
const MAX_LINE_BYTES = 4 * MAX_LINE_CHARS;
const LINES_PER_SECOND = 50;
/** Masking shorter values would hide ordinary words and protect nobody. */
const SHORTEST_SECRET = 4;
const SHORTEST_LINE = 8;
const MAX_REMEMBERED_BYTES = 64 * 1024;
/** What a line costs beside its bytes, or empty-looking ones would cost nothing. */
const OVERHEAD_BYTES = 128;

interface Said {
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

export class StderrLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #mask: (text: string) => string;
  readonly #longest: number;
  readonly #reader: LineReader;
  /** As they came; what is shown of them is masked then. Most are never shown. */
  readonly #recent: Said[] = [];
  #recentBytes = 0;
  #second = 0;
  #inSecond = 0;
  #dropped = 0;

  constructor(clock: Clock, logger: Logger, secrets: readonly Secret[]) {
    this.#clock = clock;
    this.#logger = logger;
    const sought = secrets.flatMap(lines);
    this.#mask = createMask(sought, SHORTEST_SECRET);
    this.#longest = Math.max(0, ...sought.flatMap(lengthsOf));
    this.#reader = new LineReader(MAX_LINE_BYTES, {
      line: (line) => this.#line('stderr', { bytes: line, isCut: false }),
      tooLong: (ends) => this.#line('stderr', { bytes: ends.subarray(0, -TAIL_BYTES), isCut: true }),
    });
  }

  /** Takes the bytes of stderr as they come, so many lines of them; gives the rest. */
  push(chunk: Buffer, maxLines?: number): Buffer | undefined {
    return this.#reader.push(chunk, maxLines);
  }

  /** A line on stdout that is no message. */
  stray(line: Buffer): void {
    const isCut = line.length > MAX_LINE_BYTES;
    this.#line('stdout', { bytes: isCut ? line.subarray(0, MAX_LINE_BYTES) : line, isCut });
  }

  /** The last lines, safe to log; for the cause of an error when the command fails. */
  get tail(): string {
    return this.#recent
      .map((said) => this.#readable(said))
      .filter((text) => text !== '')
      .join('\n');
  }

  #line(stream: 'stderr' | 'stdout', said: Said): void {
    if (said.bytes.length === 0) return;
    this.#remember(said);
    if (!this.#isWithinRate()) {
      this.#dropped += 1;
      return;
    }
    const text = this.#readable(said);
    if (text === '') return;
    this.#logger.debug(
      { stream, line: text, ...(this.#dropped > 0 ? { dropped: this.#dropped } : {}) },
      'command said',
    );
    this.#dropped = 0;
  }

  /** Copied: the bytes are a part of something larger, which would stay in memory as long. */
  #remember({ bytes, isCut }: Said): void {
    this.#recent.push({ bytes: Buffer.from(bytes), isCut });
    this.#recentBytes += bytes.length + OVERHEAD_BYTES;
    while (this.#recentBytes > MAX_REMEMBERED_BYTES)
      this.#recentBytes -= (this.#recent.shift()?.bytes.length ?? 0) + OVERHEAD_BYTES;
  }

  #readable({ bytes, isCut }: Said): string {
    let text = this.#mask(bytes.toString('utf8'));
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

/** What is read by the line is masked by the line: keys in PEM have several. */
function lines(secret: Secret): readonly Secret[] {
  const parts = secret
    .reveal()
    .split(/[\r\n]+/)
    .map((part) => part.trim())
    .filter((part) => part.length >= SHORTEST_LINE);
  return [secret, ...parts.map((part) => new Secret(part))];
}

function lengthsOf(secret: Secret): readonly number[] {
  const { plain, base64 } = formsOf(secret.reveal());
  return [...plain, ...base64].map(({ length }) => length);
}

/** Control characters, line separators and bidirectional marks as `\uXXXX`. */
function escapeControls(text: string): string {
  // Control characters are what is escaped here.
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
