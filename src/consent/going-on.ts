// Sends the browser to another site after a form whose page did not know of it: by a page that goes on, as
// that page's `form-action` would not let a redirect pass.
import { type Page, page } from './answer.ts';
import type { Cookie } from './cookies.ts';
import { goingOnPage } from './pages-outcome.ts';

/** Whoever made the address: a browser must not be given a script to run. */
export function siteAddress(url: string): URL {
  const target = new URL(url);
  if (target.protocol !== 'https:' && target.protocol !== 'http:') throw new TypeError('not an address to go to');
  return target;
}

export function goOn(url: string, cookies: readonly Cookie[] = []): Page {
  const target = siteAddress(url);
  return { ...page(200, goingOnPage(target), cookies), onward: { url: target.href, afterS: 0 } };
}
