// What the pages take from a request and give back; express stays outside.
import type { Cookie } from './cookies.ts';
import type { Html } from './html.ts';
import { refusedPage } from './pages-outcome.ts';
import type { Site } from './site.ts';

export interface BrowserRequest {
  readonly site: Site;
  /** By their plain names, without `__Host-`. */
  readonly cookie: (name: string) => string | undefined;
  readonly query: URLSearchParams;
  /** '' when the form has no such field, or has it twice. */
  readonly field: (name: string) => string;
  /** The network it came from, for counting. */
  readonly address: string;
}

export interface Content {
  readonly title: string;
  readonly body: Html;
}

export interface Page {
  readonly kind: 'page';
  readonly status: number;
  readonly content: Content;
  readonly cookies?: readonly Cookie[];
  /** Origin of the other site to which its form is answered with a redirect. */
  readonly formLeadsTo?: string;
  /** Where the browser goes by itself after this page. */
  readonly onward?: { readonly url: string; readonly afterS: number };
  /** When it may be tried again. */
  readonly retryAfterS?: number;
}

export interface Redirect {
  readonly kind: 'redirect';
  readonly to: string;
  readonly cookies?: readonly Cookie[];
}

export type Answer = Page | Redirect;

export function page(status: number, content: Content, cookies: readonly Cookie[] = []): Page {
  return { kind: 'page', status, content, cookies };
}

export function redirect(to: string, cookies: readonly Cookie[] = []): Redirect {
  return { kind: 'redirect', to, cookies };
}

export function refuse(status: number, reason: string): Page {
  return page(status, refusedPage(reason));
}
