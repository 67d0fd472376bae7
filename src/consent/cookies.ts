// Cookies of the pages: read from the header as it came, and written with everything that protects them.
import type { Site } from './site.ts';

export interface Cookie {
  readonly name: string;
  /** '' takes it away. */
  readonly value: string;
  readonly maxAgeS: number;
}

/** The first of a name counts: browsers send the one with the longer path first, and ours all have `/`. */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (header ?? '').split(';').map((text) => text.trim())) {
    const at = part.indexOf('=');
    const name = part.slice(0, at).trimEnd();
    if (at > 0 && !cookies.has(name)) cookies.set(name, part.slice(at + 1).trimStart());
  }
  return cookies;
}

/** `__Host-` keeps other hosts of the domain from setting it; browsers take that name over https only. */
export function cookieName(site: Site, name: string): string {
  return site.isSecure ? `__Host-${name}` : name;
}

/** Lax, not Strict: the browser has to bring it along when another site sends the person back to us. */
export function writeCookie(site: Site, { name, value, maxAgeS }: Cookie): string {
  const secure = site.isSecure ? '; Secure' : '';
  return `${cookieName(site, name)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure}`;
}

export function removed(name: string): Cookie {
  return { name, value: '', maxAgeS: 0 };
}
