// Looks for a few letters in bytes that somebody may have written to make the search slow. Node's own search hops
// from first letter to first letter: quick where that is rare, a tenth of a second for 16 MiB that are made of it.
// So the letter of the text that is rarest in the bytes is the one that is looked for.

/** Below this nothing is slow. */
const LARGE_BYTES = 1024 * 1024;
const SAMPLES = 256;
/** Of the samples: with more of the rarest letter than this a walk over all bytes is quicker. */
const DENSE = 16;

/** The index of `text`, which is ASCII, at or behind `from`; -1 when it is not there. */
export function indexOfText(bytes: Buffer, text: string, from = 0): number {
  if (bytes.length < LARGE_BYTES) return bytes.indexOf(text, from, 'latin1');
  const { place, isDense } = rarest(bytes, text);
  const letter = text.charCodeAt(place);
  const last = bytes.length - text.length + place;
  for (let i = from + place; i <= last; i++) {
    if (!isDense) {
      i = bytes.indexOf(letter, i);
      if (i < 0 || i > last) return -1;
    }
    if (bytes[i] === letter && standsAt(bytes, text, i - place)) return i - place;
  }
  return -1;
}

function standsAt(bytes: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Looked at where nobody could know beforehand. */
function rarest(bytes: Buffer, text: string): { readonly place: number; readonly isDense: boolean } {
  const found = new Uint16Array(128);
  for (let i = 0; i < SAMPLES; i++) {
    const byte = bytes[Math.floor(Math.random() * bytes.length)] as number;
    if (byte < found.length) found[byte] = (found[byte] as number) + 1;
  }
  let place = 0;
  const count = (nth: number): number => found[text.charCodeAt(nth)] as number;
  for (let nth = 1; nth < text.length; nth++) if (count(nth) < count(place)) place = nth;
  return { place, isDense: count(place) > DENSE };
}
