// Says whether one of a few byte sequences stands in a message. Asked of every message that comes from a
// server, so what it costs where nothing is found is all that counts.
//
// Four bytes are looked at here and there instead of at all. Of a needle's first `step` positions one is always
// looked at wherever it stands, so the four bytes at each of these are known beforehand. One pass for all
// needles; the longer they are, the fewer looks.

const GRAM = 4;
/** Longer steps win nothing more: then each look touches another line of the cache anyway. */
const LONGEST_STEP = 60;
/** In shorter messages each look puts its four bytes together itself: a view would cost more than all looks. */
const SHORT_BYTES = 4 * 1024;
/** The bits are this many times (as a power of two) as many as those that are set. */
const SPARE_BITS = 6;

interface Samples {
  /** In grams, which are read in one go where they stand in line. */
  readonly step: number;
  /** Needle by needle, at each position of the first `step` grams. */
  readonly grams: Int32Array;
  /** A bit for each gram's hash; no bit means certainly none of them. */
  readonly bits: Uint8Array;
  readonly shift: number;
}

export class Needles {
  /** One character a byte. */
  readonly #needles: readonly string[];
  readonly #shortest: number;
  #samples: Samples | undefined;

  /** @param needles seven bytes at least, each */
  constructor(needles: readonly Buffer[]) {
    this.#needles = needles.map((needle) => needle.toString('latin1'));
    this.#shortest = Math.min(...needles.map(({ length }) => length));
  }

  areIn(bytes: Buffer): boolean {
    // None of them, or no message that could hold one; a view of it could not even be made at the end of its memory.
    if (bytes.length < this.#shortest) return false;
    const samples = (this.#samples ??= samplesOf(this.#needles));
    return bytes.length < SHORT_BYTES ? this.#areInShort(bytes, samples) : this.#areInLong(bytes, samples);
  }

  #areInShort(bytes: Buffer, samples: Samples): boolean {
    const last = bytes.length - GRAM;
    for (let at = 0; at <= last; at += samples.step * GRAM) {
      const gram = bytes.readInt32LE(at);
      if (mayBe(samples, gram) && this.#isOne(bytes, at, gram)) return true;
    }
    return false;
  }

  #areInLong(bytes: Buffer, samples: Samples): boolean {
    const skipped = -bytes.byteOffset & (GRAM - 1);
    const grams = gramsIn(bytes, skipped);
    for (let at = 0; at < grams.length; at += samples.step) {
      const gram = grams[at] as number;
      if (mayBe(samples, gram) && this.#isOne(bytes, skipped + at * GRAM, gram)) return true;
    }
    return false;
  }

  /** The same of latin1 text. */
  areInText(text: string): boolean {
    if (text.length < this.#shortest) return false;
    if (text.length >= SHORT_BYTES) return this.areIn(Buffer.from(text, 'latin1'));
    const samples = (this.#samples ??= samplesOf(this.#needles));
    const last = text.length - GRAM;
    for (let at = 0; at <= last; at += samples.step * GRAM) {
      const gram = gramIn(text, at);
      if (mayBe(samples, gram) && this.#isOne(text, at, gram)) return true;
    }
    return false;
  }

  #isOne(text: Buffer | string, at: number, gram: number): boolean {
    const { grams, step } = this.#samples as Samples;
    const each = step * GRAM;
    for (let found = grams.indexOf(gram); found >= 0; found = grams.indexOf(gram, found + 1)) {
      const needle = this.#needles[Math.floor(found / each)] as string;
      const start = at - (found % each);
      if (start >= 0 && standsAt(text, start, needle)) return true;
    }
    return false;
  }
}

/** No means certainly none of them. */
function mayBe({ bits, shift }: Samples, gram: number): boolean {
  const slot = hash(gram, shift);
  return ((bits[slot >>> 3] as number) & (1 << (slot & 7))) !== 0;
}

function samplesOf(needles: readonly string[]): Samples {
  const shortest = Math.min(LONGEST_STEP + GRAM - 1, ...needles.map(({ length }) => length));
  const step = Math.floor((shortest - GRAM + 1) / GRAM);
  const grams = new Int32Array(needles.length * step * GRAM);
  needles.forEach((needle, n) => {
    // Once from each of its first four bytes, for each is read as the message will be.
    for (let from = 0; from < GRAM; from++) {
      const bytes = Buffer.alloc(step * GRAM);
      bytes.write(needle.slice(from), 'latin1');
      gramsIn(bytes, 0).forEach((gram, at) => (grams[n * step * GRAM + from + at * GRAM] = gram));
    }
  });
  const width = Math.min(24, Math.ceil(Math.log2(grams.length)) + SPARE_BITS);
  const bits = new Uint8Array(2 ** (width - 3));
  for (const gram of grams) {
    const slot = hash(gram, 32 - width);
    bits[slot >>> 3] = (bits[slot >>> 3] as number) | (1 << (slot & 7));
  }
  return { step, grams, bits, shift: 32 - width };
}

/** A view, copied nowhere; its bytes beyond the last whole gram are left out. */
const gramsIn = (bytes: Buffer, skipped: number): Int32Array =>
  new Int32Array(bytes.buffer, bytes.byteOffset + skipped, Math.max(0, bytes.length - skipped) >>> 2);

/** The gram that stands there in the bytes of latin1 text. */
const gramIn = (text: string, at: number): number =>
  (text.charCodeAt(at) & 0xff) |
  ((text.charCodeAt(at + 1) & 0xff) << 8) |
  ((text.charCodeAt(at + 2) & 0xff) << 16) |
  (text.charCodeAt(at + 3) << 24);

const standsAt = (text: Buffer | string, start: number, needle: string): boolean =>
  typeof text === 'string'
    ? text.startsWith(needle, start)
    : text.toString('latin1', start, start + needle.length) === needle;

/** Multiplication spreads the bits (Knuth); the top ones are the best. */
const hash = (gram: number, shift: number): number => Math.imul(gram, 0x9e3779b1) >>> shift;
