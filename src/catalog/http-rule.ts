// When a credential may travel in clear: to loopback, or to a host that the operator allowed by name.

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopbackHost = (hostname: string): boolean => LOOPBACK.test(hostname.toLowerCase());

/** For `mayUseHttp` of a definition: KEYBEARER_EGRESS_ALLOW names the host and KEYBEARER_EGRESS_ALLOW_HTTP is on. */
export function createHttpRule({
  allow,
  allowHttp,
}: {
  allow: readonly string[];
  allowHttp: boolean;
}): (url: string) => boolean {
  const hosts = new Set(allow.map((entry) => entry.toLowerCase()));
  return (url) => {
    if (!URL.canParse(url)) return false;
    const { hostname, host } = new URL(url);
    return isLoopbackHost(hostname) || (allowHttp && (hosts.has(hostname) || hosts.has(host)));
  };
}
