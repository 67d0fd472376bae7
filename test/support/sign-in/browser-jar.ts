// A small browser over fetch for walking through sign-ins: one profile with its cookies, redirects and pages
// that send on at once followed and remembered, forms sent as the page wrote them, and the headers that real
// browsers add.
import { BrowserCookies } from './browser-cookies.ts';
import { type Form, formsOf } from './browser-form.ts';
import { checkFormAction } from './form-action.ts';

export interface Hop {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly location: string | undefined;
  readonly setCookies: readonly string[];
  readonly headers: Headers;
}

/** Where the browser has arrived. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** All requests that led here, this page's own last. */
  readonly hops: readonly Hop[];
  readonly forms: readonly Form[];
}

export interface SubmitOptions {
  /** Which form; default: the first. */
  readonly form?: number;
  /** The value of the button to press; default: the first button. */
  readonly button?: string;
}

/** One request on the way, and what a browser knows of where it came from. */
interface Step {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body: string | undefined;
  /** The page that caused it; undefined for an address typed or clicked outside. */
  readonly from: Page | undefined;
  readonly isForm: boolean;
}

const MAX_HOPS = 20;
const WAIT_MS = 10_000;

const siteOf = ({ protocol, hostname }: URL): string => `${protocol}//${hostname}`;

/** Fetch metadata §2.3: the whole chain counts, so one foreign redirect spoils it. */
function fetchSite(url: URL, chain: readonly URL[]): string {
  if (chain.length === 0) return 'none';
  if (chain.some((one) => siteOf(one) !== siteOf(url))) return 'cross-site';
  return chain.some((one) => one.origin !== url.origin) ? 'same-site' : 'same-origin';
}

export class Browser {
  readonly cookies: BrowserCookies;
  #page: Page | undefined;

  constructor(now: () => number = () => Date.now()) {
    this.cookies = new BrowserCookies(now);
  }

  get page(): Page {
    if (this.#page === undefined) throw new Error('No page is open');
    return this.#page;
  }

  /** As an address that the person types, or clicks in another program. */
  open(url: string): Promise<Page> {
    return this.#go({ url: new URL(url), method: 'GET', body: undefined, from: undefined, isForm: false });
  }

  /** As a link on the page that is open. */
  follow(url: string): Promise<Page> {
    const target = new URL(url, this.page.url);
    return this.#go({ url: target, method: 'GET', body: undefined, from: this.page, isForm: false });
  }

  /** Sends a form of the page that is open, with these fields put over what stands in it. */
  submit(fields: Readonly<Record<string, string>> = {}, { form: nth = 0, button }: SubmitOptions = {}): Promise<Page> {
    const from = this.page;
    const form = from.forms[nth];
    if (form === undefined) throw new Error(`The page has no form ${nth}: ${from.status} ${from.text.slice(0, 2_000)}`);
    const pressed = form.buttons.find(([, value]) => button === undefined || value === button);
    if (button !== undefined && pressed === undefined) throw new Error(`The form has no button ${button}`);
    const sent = new URLSearchParams(form.fields);
    if (pressed !== undefined && pressed[0] !== '') sent.set(...pressed);
    for (const [name, value] of Object.entries(fields)) sent.set(name, value);
    const url = new URL(form.action, from.url);
    if (form.method === 'GET') url.search = sent.toString();
    const body = form.method === 'POST' ? sent.toString() : undefined;
    return this.#go({ url, method: form.method, body, from, isForm: true });
  }

  async #go(first: Step): Promise<Page> {
    const hops: Hop[] = [];
    const chain = first.from === undefined ? [] : [new URL(first.from.url)];
    for (let step = first; ; ) {
      if (step.from !== undefined && step.isForm)
        checkFormAction(step.from.headers.get('content-security-policy'), step.url, new URL(step.from.url));
      const response = await this.#send(step, chain);
      const location = response.headers.get('location') ?? undefined;
      const setCookies = response.headers.getSetCookie();
      for (const cookie of setCookies) this.cookies.take(step.url, cookie);
      const { status, headers } = response;
      hops.push({ method: step.method, url: step.url.href, status, location, setCookies, headers });
      const text = await response.text();
      if (location === undefined || status < 300 || status > 399) {
        const page = { url: step.url.href, status, text, headers, hops, forms: formsOf(text) };
        this.#page = page;
        const onward = refreshOf(page);
        if (onward === undefined || hops.length >= MAX_HOPS) return page;
        // A navigation that this page began, and of no form.
        chain.push(step.url);
        step = { url: onward, method: 'GET', body: undefined, from: page, isForm: false };
        continue;
      }
      if (hops.length >= MAX_HOPS) throw new Error(`Redirected ${hops.length} times, last to ${location}`);
      if (chain.length > 0) chain.push(step.url);
      step = redirected(step, new URL(location, step.url), status);
    }
  }

  #send({ url, method, body, from }: Step, chain: readonly URL[]): Promise<Response> {
    const site = fetchSite(url, chain);
    const initiator = from === undefined ? undefined : new URL(from.url);
    const sameSite = initiator === undefined || siteOf(initiator) === siteOf(url);
    const cookie = this.cookies.header(url, { sameSite, method });
    return fetch(url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(WAIT_MS),
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        'sec-fetch-site': site,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        'sec-fetch-user': '?1',
        ...(cookie === undefined ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded', origin: originOf(from) }),
      },
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** Fetch §3.2: a page that wants no referrer hides its origin too. */
function originOf(from: Page | undefined): string {
  if (from === undefined || from.headers.get('referrer-policy') === 'no-referrer') return 'null';
  return new URL(from.url).origin;
}

/** HTML §4.2.5.3, where it is to happen at once; a page that waits before is one to look at. */
function refreshOf({ url, headers }: Page): URL | undefined {
  const target = /^\s*0\s*;\s*url=(.+)$/i.exec(headers.get('refresh') ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, url);
}

/** Fetch §4.4: all but 307 and 308 make a GET of a POST. */
function redirected(step: Step, url: URL, status: number): Step {
  return status === 307 || status === 308 ? { ...step, url } : { ...step, url, method: 'GET', body: undefined };
}
