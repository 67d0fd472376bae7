// Lists by pages: `?cursor=` from the last answer, `?limit=` up to 500.
import { AdminProblem } from './problem.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

export interface PageRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

export function readPage(query: URLSearchParams): PageRequest {
  const limit = query.get('limit') ?? String(DEFAULT_LIMIT);
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_LIMIT)
    throw new AdminProblem(400, `"limit" must be from 1 to ${String(MAX_LIMIT)}.`);
  return { cursor: query.get('cursor') ?? undefined, limit: Number(limit) };
}

/** For lists that a store gives as pages. */
export function toPage<T>(items: readonly T[], nextCursor: string | undefined): Page<T> {
  return nextCursor === undefined ? { items } : { items, nextCursor };
}

/** For short lists held in memory. The cursor is the key of the last item seen, so items that come and go move nothing. */
export function pageOf<T>(all: readonly T[], keyOf: (item: T) => string, { cursor, limit }: PageRequest): Page<T> {
  const after = cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString();
  const sorted = all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const rest = after === undefined ? sorted : sorted.filter((item) => keyOf(item) > after);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return toPage(
    items,
    rest.length > limit && last !== undefined ? Buffer.from(keyOf(last)).toString('base64url') : undefined,
  );
}
