// Cursors of our own lists. Opaque to agents; by the name that a page ends with, so that they still mean the same after
// the list grew elsewhere.
const BEHIND = 'behind:';

export const cursorBehind = (name: string): string => Buffer.from(BEHIND + name).toString('base64url');

/** The name that a page begins behind; undefined for a cursor that is none of ours. */
export function nameIn(cursor: string): string | undefined {
  const text = Buffer.from(cursor, 'base64url').toString();
  return text.startsWith(BEHIND) ? text.slice(BEHIND.length) : undefined;
}
