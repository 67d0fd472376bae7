// Follows cursors to the end, with a bound, and keeps each page.
import type { JsonObject } from '../upstreams/message.ts';
import type { Listing, Tool } from './agent.ts';

const MAX_PAGES = 64;

export async function allPages(getPage: (cursor: string | undefined) => Promise<JsonObject>): Promise<Listing> {
  const raw: JsonObject[] = [];
  let cursor: string | undefined;
  do {
    const page = await getPage(cursor);
    raw.push(page);
    if (raw.length > MAX_PAGES) throw new Error(`More than ${MAX_PAGES} pages`);
    cursor = typeof page['nextCursor'] === 'string' ? page['nextCursor'] : undefined;
  } while (cursor !== undefined);
  return { tools: raw.flatMap((page) => page['tools'] as Tool[]), raw };
}
