// How a keyed server cuts a list of whatever kind into pages.
import type { Paging } from './keyed-options.ts';

export interface KeyedPage<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

const slice = <T>(all: readonly T[], from: number, size: number, cursor = String(from + size)): KeyedPage<T> => ({
  items: all.slice(from, from + size),
  ...(from + size < all.length ? { nextCursor: cursor } : {}),
});

/**
 * Undefined when the cursor is none of ours.
 *
 * @param more makes the n-th item of a list that never ends
 */
export function pageOf<T>(
  paging: Paging,
  all: readonly T[],
  cursor: unknown,
  more: (n: number, bytes: number) => T,
): KeyedPage<T> | undefined {
  const half = Math.ceil(all.length / 2);
  switch (paging.kind) {
    case 'none':
      return cursor === undefined ? { items: all } : undefined;
    case 'size': {
      const from = Number(cursor ?? 0);
      const isOurs = from >= 0 && (from < all.length || from === 0) && from % paging.size === 0;
      return isOurs ? slice(all, from, paging.size) : undefined;
    }
    case 'empty-cursor':
      return cursor === undefined ? slice(all, 0, half, '') : cursor === '' ? { items: all.slice(half) } : undefined;
    case 'repeated-cursor':
      return { items: all, nextCursor: 'x' };
    case 'endless': {
      const n = Number(cursor ?? 0);
      return { items: [more(n, paging.pageBytes)], nextCursor: String(n + 1) };
    }
  }
}
