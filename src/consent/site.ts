// Where the pages live: everything that is made from the public URL, and from nothing a request says.

export interface Site {
  /** Browsers keep `Secure` and `__Host-` cookies of it. */
  readonly isSecure: boolean;
  /** For links and redirects inside the pages; a prefix of the public URL stays in front (B154). */
  path(path: `/${string}`): string;
  /** For others who are to send the browser here. */
  url(path: `/${string}`): string;
}

export function siteOf(publicUrl: string): Site {
  const { origin, pathname, protocol } = new URL(publicUrl);
  const prefix = pathname.replace(/\/+$/, '');
  return {
    isSecure: protocol === 'https:',
    path: (path) => prefix + path,
    url: (path) => origin + prefix + path,
  };
}
