// One browser: its cookies, and what it sends along by itself. It goes nowhere on its own, so that each step can be looked at.
import { BrowserCookies } from '../support/sign-in/browser-cookies.ts';
import { decodeHtml, formsOf } from '../support/sign-in/browser-form.ts';

export interface Seen {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** Of a redirect, with its query. */
  readonly location: string;
  /** Where the page goes on by itself, or would at the press of its link. */
  readonly onward: string;
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | null;
}

export class Jar {
  readonly cookies: BrowserCookies;
  readonly #origin: string;

  constructor(origin: string, now: () => number) {
    this.#origin = origin;
    this.cookies = new BrowserCookies(now);
  }

  open(path: string, headers: Record<string, string> = {}): Promise<Seen> {
    return this.#ask(path, { method: 'GET', headers });
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Seen> {
    // As from a page with `no-referrer` (Fetch §3.2).
    const own = { origin: 'null', 'sec-fetch-site': 'same-origin' };
    return this.#ask(path, { method: 'POST', body: new URLSearchParams(fields), headers: { ...own, ...headers } });
  }

  /** Sends a form of the page as it stands there, with these fields put over it. */
  press(path: string, page: Seen, fields: Record<string, string> = {}, nth = 0): Promise<Seen> {
    const form = formsOf(page.text)[nth];
    if (form === undefined) throw new Error(`no form ${nth} in ${page.text}`);
    return this.post(form.action === '' ? path : form.action, { ...Object.fromEntries(form.fields), ...fields });
  }

  async #ask(path: string, { method, headers, body = null }: Sent): Promise<Seen> {
    const url = new URL(path, this.#origin);
    const cookie = this.cookies.header(url, { sameSite: true, method });
    const all = { ...headers, ...(cookie === undefined ? {} : { cookie }) };
    const response = await fetch(url, { method, body, headers: all, redirect: 'manual' });
    for (const one of response.headers.getSetCookie()) this.cookies.take(url, one);
    const text = await response.text();
    const refresh = /^\d+; url=(.*)$/.exec(response.headers.get('refresh') ?? '')?.[1];
    return {
      status: response.status,
      text,
      headers: response.headers,
      location: response.headers.get('location') ?? '',
      onward:
        refresh ??
        decodeHtml(/<a class="button" href="([^"]*)"/.exec(text)?.[1] ?? response.headers.get('location') ?? ''),
    };
  }
}
