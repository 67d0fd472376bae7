// Looks for a few letters in bytes that somebody may have written to make the search slow. Node's own search hops
// from first letter to first letter: quick where that is rare, a tenth of a second for 16 MiB that are made of it.

/** Below this nothing is slow. */
const LARGE_BYTES = 1024 * 1024;
const SAMPLES = 256;
/** Of the samples: with more first letters than this a walk over all bytes is quicker. */
const DENSE = 16;

/** The index of `text`, which is ASCII, at or behind `from`; -1 when it is not there. */
export function indexOfText(bytes: Buffer, text: string, from = 0): number {
  if (bytes.length < LARGE_BYTES || !isDense(bytes, text.charCodeAt(0))) return bytes.indexOf(text, from, 'latin1');
  const first = text.charCodeAt(0);
  const last = bytes.length - text.length;
  for (let i = from; i <= last; i++) if (bytes[i] === first && standsAt(bytes, text, i)) return i;
  return -1;
}

function standsAt(bytes: Buffer, text: string, at: number): boolean {
  for (let i = 1; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Looked at where nobody could know beforehand. */
function isDense(bytes: Buffer, letter: number): boolean {
  let found = 0;
  for (let i = 0; i < SAMPLES; i++) if (bytes[Math.floor(Math.random() * bytes.length)] === letter) found++;
  return found > DENSE;
}
