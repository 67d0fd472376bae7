// A browser's cookies, as far as sign-ins need them: by host and not by port, as real browsers keep them.

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly secure: boolean;
  readonly sameSite: string;
  readonly httpOnly: boolean;
  readonly expiresAt: number;
}

/** Browsers take `Secure` cookies over plain HTTP from the own machine. */
const isTrustworthy = (url: URL): boolean =>
  url.protocol === 'https:' || url.hostname === 'localhost' || url.hostname.startsWith('127.');

const covers = (cookiePath: string, path: string): boolean =>
  path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);

export class BrowserCookies {
  readonly #now: () => number;
  #all: readonly Cookie[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** RFC 6265 §5.3; one with a `__Host-` name that breaks its rules is dropped. */
  take(url: URL, header: string): void {
    const [pair = '', ...attributes] = header.split(';').map((part) => part.trim());
    const at = new Map(
      attributes.map((text) => {
        const [name = '', value = ''] = text.split(/=(.*)/s);
        return [name.toLowerCase(), value];
      }),
    );
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const maxAge = at.get('max-age');
    const expires = at.get('expires');
    const path = at.get('path');
    const cookie: Cookie = {
      name,
      value,
      host: url.hostname,
      path: path?.startsWith('/') ? path : url.pathname.replace(/\/[^/]*$/, '') || '/',
      secure: at.has('secure'),
      sameSite: (at.get('samesite') ?? 'lax').toLowerCase(),
      httpOnly: at.has('httponly'),
      expiresAt:
        maxAge !== undefined
          ? this.#now() + Number(maxAge) * 1000
          : expires !== undefined
            ? Date.parse(expires)
            : Number.POSITIVE_INFINITY,
    };
    if (cookie.secure && !isTrustworthy(url)) return;
    if (name.startsWith('__Host-') && !(cookie.secure && path === '/' && !at.has('domain'))) return;
    if (name.startsWith('__Secure-') && !cookie.secure) return;
    const isSame = (one: Cookie): boolean => one.name === name && one.host === cookie.host && one.path === cookie.path;
    this.#all = [...this.#all.filter((one) => !isSame(one)), cookie];
  }

  /** The header for a request; `sameSite` is whether the page that caused it is of the same site. */
  header(url: URL, { sameSite, method }: { readonly sameSite: boolean; readonly method: string }): string | undefined {
    const mayGo = (cookie: Cookie): boolean => {
      if (cookie.host !== url.hostname || !covers(cookie.path, url.pathname)) return false;
      if (cookie.expiresAt <= this.#now() || (cookie.secure && !isTrustworthy(url))) return false;
      return sameSite || cookie.sameSite === 'none' || (cookie.sameSite === 'lax' && method === 'GET');
    };
    const going = this.#all.filter(mayGo).sort((a, b) => b.path.length - a.path.length);
    return going.length === 0 ? undefined : going.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** What is kept now, for a look from outside. */
  list(): readonly Cookie[] {
    return this.#all.filter(({ expiresAt }) => expiresAt > this.#now());
  }

  clear(): void {
    this.#all = [];
  }
}
