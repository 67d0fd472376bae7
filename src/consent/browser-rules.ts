// What browsers are told with every page, and which posts they may make.
import type { RequestHandler } from 'express';

const LOOPBACK_SITES = ['http://127.0.0.1:*', 'http://localhost:*'];

/**
 * `formLeadsTo` is the origin that the page's form leads to by a redirect. Chromium holds every redirect
 * after a form against `form-action`, those of the other site to its own sign-in hosts too, and nobody can
 * list these beforehand: so any https site then, and on the machine itself any port.
 */
export function securityPolicy(formLeadsTo?: string): string {
  const further = formLeadsTo?.startsWith('http:') === true ? LOOPBACK_SITES : [];
  const sites = formLeadsTo === undefined ? [] : ['https:', formLeadsTo, ...further];
  const formAction = ["'self'", ...sites].join(' ');
  return `default-src 'none'; style-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`;
}

const HEADERS = {
  'Content-Security-Policy': securityPolicy(),
  // Addresses hold tickets, codes and states.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const HTTPS_ONLY = { 'Strict-Transport-Security': 'max-age=31536000' };

export function strictPages(publicUrl: () => string): RequestHandler {
  return (_request, response, next) => {
    response.set(HEADERS);
    if (publicUrl().startsWith('https:')) response.set(HTTPS_ONLY);
    next();
  };
}

export interface PostOrigin {
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/** Whether a form of our own page, or no browser at all, sent this (T25). */
export function isOwnPost({ origin, secFetchSite }: PostOrigin, publicUrl: string): boolean {
  if (secFetchSite !== undefined && secFetchSite !== 'same-origin' && secFetchSite !== 'none') return false;
  if (origin === undefined) return true;
  // Fetch §3.2: a page with `no-referrer` posts with `Origin: null`, so the other header decides. Browsers
  // leave that one out only where the page came unprotected over a network.
  if (origin === 'null') return secFetchSite !== undefined || !isTrustworthy(new URL(publicUrl));
  return isSameOrigin(origin, new URL(publicUrl));
}

function isSameOrigin(origin: string, own: URL): boolean {
  if (!URL.canParse(origin)) return false;
  const other = new URL(origin);
  if (other.origin === own.origin) return true;
  // `localhost` and 127.0.0.1 are one machine, and people open either.
  return isLoopback(other) && isLoopback(own) && other.protocol === own.protocol && other.port === own.port;
}

function isTrustworthy(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url);
}

function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(url.hostname);
}
