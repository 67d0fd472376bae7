// A view built from server names and tool names, and what stands on its pages.

import { buildOffer, type Page, type Standing, type View, viewOf as viewOfOffer } from '../../src/catalog/view.ts';
import type { JsonObject } from '../../src/wire/reply.ts';
import { aTool } from './a-tenant.ts';
import { serverOf } from './read-definition.ts';
import { readTools } from './read-tools.ts';

export const SELF = { name: 'keybearer', version: '1.2.3' };

type Tools = readonly (string | object)[] | undefined;

/** Tools undefined: its list is not known. */
export function standingOf(name: string, tools: Tools, definition: object = {}): Standing {
  const server = serverOf({ url: `https://${name}.test/mcp`, ...definition }, { name });
  const listed = tools?.map((tool) => (typeof tool === 'string' ? aTool(tool) : tool));
  const list =
    listed === undefined
      ? undefined
      : { ...readTools(listed), foundAt: 0, toolsJson: JSON.stringify(listed), stamp: '' };
  return { name, server, list, state: list === undefined ? 'unavailable' : 'ok', reason: undefined };
}

export async function viewOf(
  all: readonly (readonly [string, Tools])[],
  isPrefixed = true,
  definitions: Readonly<Record<string, object>> = {},
): Promise<View> {
  const standings = all.map(([name, tools]) => standingOf(name, tools, definitions[name] ?? {}));
  return viewOfStandings(
    [...standings].sort((a, b) => (a.name < b.name ? -1 : 1)),
    isPrefixed,
  );
}

export const viewOfStandings = async (standings: readonly Standing[], isPrefixed = true): Promise<View> =>
  viewOfOffer(await buildOffer(standings, isPrefixed), standings, SELF);

export const parsedPage = (page: Page | undefined, era: 'legacy' | 'modern' = 'legacy'): JsonObject =>
  JSON.parse((page?.[era] ?? ['null']).join('')) as JsonObject;

/** Names on all pages, in their order. */
export function toolsIn(view: View): string[] {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < 100; n++) {
    const page = parsedPage(view.page(cursor));
    names.push(...(page['tools'] as readonly { name: string }[]).map(({ name }) => name));
    if (page['nextCursor'] === undefined) return names;
    cursor = String(page['nextCursor']);
  }
  throw new Error('pages without end');
}
