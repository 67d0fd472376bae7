// Finds the known name that somebody probably meant, so that a refusal can say "did you mean".

const LONGEST = 64;
/** Names that are told to be unknown, each with a guess; whoever sends more of them did not misspell them. */
export const MAX_UNKNOWN = 100;

/** Undefined when nothing is near enough to be worth a guess. */
export function nearMiss(name: string, known: readonly string[]): string | undefined {
  const wanted = plain(name.slice(0, LONGEST));
  const reach = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
  let best: string | undefined;
  let bestDistance = reach + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, plain(candidate));
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** ` Did you mean "x"?`, or nothing; to be put behind a sentence. */
export function didYouMean(name: string, known: readonly string[]): string {
  const guess = nearMiss(name, known);
  return guess === undefined ? '' : ` Did you mean "${guess}"?`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** Insertions, deletions, changes, and swaps of neighbours, as typing errors are made of these. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const bySwap = swapped ? cell(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(cell(last, j) + 1, cell(row, j - 1) + 1, cell(last, j - 1) + change, bySwap));
    }
    beforeLast = last;
    last = row;
  }
  return cell(last, b.length);
}

function cell(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
