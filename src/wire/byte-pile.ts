// Chunks of a body until it is whole. Whoever sends a byte at a time must not make an object of each: they are
// gathered in blocks, and only large ones are kept as they are.

const SMALL_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;
const LARGE = 64 * 1024;
const NOTHING = Buffer.alloc(0);

export class BytePile {
  readonly #chunks: Buffer[] = [];
  #block = NOTHING;
  #used = 0;

  get isEmpty(): boolean {
    return this.#chunks.length === 0 && this.#used === 0;
  }

  add(chunk: Buffer): void {
    // The first is nearly always the only one.
    if (this.isEmpty || chunk.length >= SMALL_BYTES) {
      this.#closeBlock();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#used + chunk.length > this.#block.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    }
    chunk.copy(this.#block, this.#used);
    this.#used += chunk.length;
  }

  /** All of it as one, and nothing is left. */
  take(): Buffer {
    this.#closeBlock();
    const [first] = this.#chunks;
    const whole = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    return whole;
  }

  drop(): void {
    this.#chunks.length = 0;
    this.#block = NOTHING;
    this.#used = 0;
  }

  #closeBlock(): void {
    if (this.#used > 0) this.#chunks.push(this.#block.subarray(0, this.#used));
    this.#block = NOTHING;
    this.#used = 0;
  }
}

/** A buffer for a body that says it is large, within what is taken at all. */
export function bufferFor(length: string | undefined, limit: number): Buffer | undefined {
  const bytes = Number(length);
  return bytes > LARGE && bytes <= limit ? Buffer.allocUnsafe(bytes) : undefined;
}
