// Where a browser goes on after its person was proved: one of our own pages, never an address (T9).
import type { Site } from './site.ts';

const TARGET = /^(?:connect|connections|connect\/[A-Za-z0-9_-]{43})$/;

/** The path of the page; undefined when it is none of ours. */
export function pathOf(site: Site, target: string): string | undefined {
  return TARGET.test(target) ? site.path(`/${target}`) : undefined;
}

/** Of a link. Only for texts of tickets that were found. */
export function targetOf(ticketText: string): string {
  return `connect/${ticketText}`;
}
