// Cuts a stream of bytes into lines, joining bytes before anybody decodes them, so that a character
// split between two chunks arrives whole (RFC 8259 §8.1).

const LF = 0x0a;
const CR = 0x0d;
/** Of a line that is too long these ends are kept: enough to tell whose answer it was. */
const HEAD_BYTES = 4096;
export const TAIL_BYTES = 64;

export interface LineSink {
  line(line: Buffer): void;
  /** A line went past the limit: its first and last bytes, when it has ended. */
  tooLong(ends: Buffer): void;
}

export class LineReader {
  readonly #maxBytes: number;
  readonly #sink: LineSink;
  /** Bytes of the line that has not ended yet, `#size` of them; grows by doubling. */
  #held: Buffer = Buffer.alloc(0);
  #size = 0;
  #overflow: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(maxBytes: number, sink: LineSink) {
    this.#maxBytes = maxBytes;
    this.#sink = sink;
  }

  /** Takes bytes until so many lines have ended; gives those that it left for later, if any. */
  push(chunk: Buffer, maxLines = Number.POSITIVE_INFINITY): Buffer | undefined {
    let from = 0;
    let lines = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      if (lines === maxLines) return chunk.subarray(from);
      lines += 1;
      this.#finish(chunk.subarray(from, end));
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return undefined;
  }

  #finish(last: Buffer): void {
    if (this.#size === 0 && this.#overflow === undefined && last.length <= this.#maxBytes) {
      this.#sink.line(withoutCr(last));
      return;
    }
    this.#keep(last);
    const { overflow, line } = { overflow: this.#overflow, line: this.#held.subarray(0, this.#size) };
    this.#overflow = undefined;
    this.#drop();
    if (overflow === undefined) this.#sink.line(withoutCr(line));
    else this.#sink.tooLong(Buffer.concat([overflow.head, overflow.tail]));
  }

  #keep(part: Buffer): void {
    if (this.#overflow !== undefined) {
      this.#overflow.tail = lastOf(Buffer.concat([this.#overflow.tail, lastOf(part)]));
      return;
    }
    if (this.#size + part.length <= this.#maxBytes) {
      this.#append(part);
      return;
    }
    // Not put together first: of all that only the ends are kept.
    const held = this.#held.subarray(0, this.#size);
    const head = Buffer.concat([held.subarray(0, HEAD_BYTES), part.subarray(0, HEAD_BYTES)]).subarray(0, HEAD_BYTES);
    const tail = lastOf(Buffer.concat([lastOf(held), lastOf(part)]));
    this.#overflow = { head, tail };
    this.#drop();
  }

  #append(part: Buffer): void {
    const size = this.#size + part.length;
    if (size > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(size, this.#held.length * 2), this.#maxBytes));
      this.#held.copy(grown, 0, 0, this.#size);
      this.#held = grown;
    }
    part.copy(this.#held, this.#size);
    this.#size = size;
  }

  /** The buffer went out with the line, so the next one gets its own. */
  #drop(): void {
    this.#held = Buffer.alloc(0);
    this.#size = 0;
  }
}

const lastOf = (bytes: Buffer): Buffer => bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES));
const withoutCr = (line: Buffer): Buffer => (line.at(-1) === CR ? line.subarray(0, -1) : line);
