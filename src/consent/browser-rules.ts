// Which posts browsers may make to the pages, and where the forms of a page may lead.

const LOOPBACK_SITES = ['http://127.0.0.1:*', 'http://localhost:*'];

/**
 * What a page's `form-action` has to let pass, when its form is answered with a redirect to another site.
 * Chromium holds every redirect after a form against it, those of the other site to its own sign-in hosts too,
 * and nobody can list these beforehand: so any https site then, and on the machine itself any port (ADR 14).
 */
export function formTargets(leadsTo: string): readonly string[] {
  return ['https:', leadsTo, ...(leadsTo.startsWith('http:') ? LOOPBACK_SITES : [])];
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
