// A browser that went to another site to have its person proved, and comes back.
import type { BrowserSignIn } from '../identity/browser-sign-in-store.ts';
import { type Answer, type BrowserRequest, page } from './answer.ts';
import type { Cookie } from './cookies.ts';
import { type Keepsake, purposeOf } from './keepsake.ts';
import { unknownReturnPage } from './pages-outcome.ts';
import { pathOf } from './target.ts';

/** How long somebody may take there. */
export const AWAY_MS = 10 * 60_000;

export interface Departure {
  readonly url: string;
  /** Before anybody is proved: it says only that it is the same browser. */
  readonly cookie: Cookie;
}

/** One cookie for each departure, so that two tabs do not spoil each other (B155). */
const cookieOf = (id: string): string => `kb_person_${id}`;

export function depart(id: string, url: string, { text }: Keepsake): Departure {
  return { url, cookie: { name: cookieOf(id), value: text, maxAgeS: AWAY_MS / 1000 } };
}

export interface Return {
  /** What the browser held all the time. */
  readonly held: string;
  /** Where it goes on. */
  readonly path: string;
}

/** Undefined when this is not the browser that went (T1). */
export function findReturn(request: BrowserRequest, { id, browserHash }: BrowserSignIn): Return | undefined {
  // The cookie stays for its ten minutes, so that the same answer once more goes on to the same page.
  const held = request.cookie(cookieOf(id));
  const target = purposeOf(held, browserHash);
  const path = target === undefined ? undefined : pathOf(request.site, target);
  return held === undefined || path === undefined ? undefined : { held, path };
}

/** The same for all who do not come back to where they went from. */
export function strangeReturn(): Answer {
  return page(400, unknownReturnPage());
}
