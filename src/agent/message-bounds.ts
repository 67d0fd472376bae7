// How deep and how wide a message is, told from its bytes as they come: a parse of very many small values, or of very
// deep ones, holds everybody else up, and so would one look over all of it at its end.
import { CLOSE, CLOSE_LIST, COMMA, OPEN, OPEN_LIST, QUOTE } from '../wire/json-bytes.ts';

const MAX_DEPTH = 128;
/** Members and elements, all levels together. */
const MAX_VALUES = 100_000;
const BACKSLASH = 0x5c;

export class MessageBounds {
  #depth = 0;
  #values = 1;
  #isInString = false;
  #isEscaped = false;
  #problem: string | undefined;

  /** What is wrong with what was seen, in words for its sender. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** @param chunk the next bytes; a character may be cut anywhere, for no other byte of UTF-8 looks like a sign */
  see(chunk: Buffer): void {
    if (this.#problem !== undefined) return;
    let [depth, values, isInString] = [this.#depth, this.#values, this.#isInString];
    const { length } = chunk;
    let at = this.#isEscaped && length > 0 ? 1 : 0;
    if (length > 0) this.#isEscaped = false;
    for (; at < length; at++) {
      const byte = chunk[at];
      if (isInString) {
        if (byte === QUOTE) isInString = false;
        else if (byte === BACKSLASH && ++at === length) this.#isEscaped = true;
      } else if (byte === QUOTE) isInString = true;
      else if (byte === OPEN || byte === OPEN_LIST) {
        if (++depth > MAX_DEPTH) return this.#refuse(`is nested more than ${MAX_DEPTH} levels deep`);
      } else if (byte === CLOSE || byte === CLOSE_LIST) depth--;
      else if (byte === COMMA && ++values > MAX_VALUES) return this.#refuse(`has more than ${MAX_VALUES} values`);
    }
    this.#depth = depth;
    this.#values = values;
    this.#isInString = isInString;
  }

  #refuse(what: string): void {
    this.#problem = `The message ${what}.`;
  }
}
