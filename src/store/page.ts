// Lists in pages: a cursor holds the key of the last row seen, so rows that come and go move nothing.
import { ProxyError } from '../shared/errors.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** `rows` were asked for with `LIMIT limit + 1`: one more than fits says that there is a next page. */
export function toPage<T>(rows: readonly T[], limit: number, keyOf: (row: T) => readonly string[]): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const next = rows.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : undefined;
  return { items, next };
}

export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** The key in a cursor of ours; anything else is the asker's mistake. */
export function decodeCursor(cursor: string, length: number): readonly string[] {
  const key = parseJson(Buffer.from(cursor, 'base64url').toString());
  // PostgreSQL text holds no NUL, so no row was ever left at such a key.
  const isPart = (part: unknown): part is string => typeof part === 'string' && !part.includes('\u0000');
  if (Array.isArray(key) && key.length === length && key.every(isPart)) return key;
  throw new ProxyError('invalid_request', 'The cursor is not one that a list gave.');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
