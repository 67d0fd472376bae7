// What browsers are told with every page, and which posts they may make.
import type { RequestHandler } from 'express';

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  // The address holds the ticket.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export const strictPages: RequestHandler = (_request, response, next) => {
  response.set(HEADERS);
  next();
};

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
