// Lets so many pieces of work run at a time; the rest wait in the order they came.
export class Gate {
  readonly #places: number;
  readonly #line: (() => void)[] = [];
  #inside = 0;

  constructor(places: number) {
    this.#places = places;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#places) await new Promise<void>((resolve) => this.#line.push(resolve));
    else this.#inside++;
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      if (next === undefined) this.#inside--;
      else next();
    }
  }
}
