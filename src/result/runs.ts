// What is kept of a list or an object as it stands. Elements side by side are kept as one piece: a million numbers
// must not become a million objects.
export class Runs {
  readonly #bytes: Buffer;
  readonly #pieces: Buffer[] = [];
  /** Of the run that may still grow; there is none while both are the same. */
  #start = 0;
  #end = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Pieces that grow no more. */
  get closed(): number {
    return this.#pieces.length;
  }

  /** How many bytes more it is with this element, one for a comma included. */
  growth(start: number, end: number): number {
    return this.#end > this.#start ? end - this.#end : end - start + 1;
  }

  /** The element stands directly behind the one before it, unless the run was closed in between. */
  add(start: number, end: number): void {
    if (this.#end === this.#start) this.#start = start;
    this.#end = end;
  }

  /** Something is left out here. */
  close(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#bytes.subarray(this.#start, this.#end));
    this.#start = 0;
    this.#end = 0;
  }

  /** Stands for an element. */
  put(piece: Buffer): void {
    this.close();
    this.#pieces.push(piece);
  }

  /** All pieces, to be joined by commas. */
  end(): readonly Buffer[] {
    this.close();
    return this.#pieces;
  }
}
