// Names that are never looked up, because whatever they resolve to is inside: reserved top levels, habits of
// home and company networks, and the names of clouds' metadata services.

/** RFC 6761, 6762, 7686, 8375, 9476; the private-use name of ICANN; names that collide with private networks. */
const RESERVED_SUFFIXES = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
  'invalid',
  'onion',
  'alt',
  'svc',
];

const METADATA_NAMES = new Set([
  'metadata.goog',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'api.metadata.cloud.ibm.com',
]);

/** @param host as `new URL` gives it, lower case. Without one dot at its end, which means the same name (RFC 1034 §3.1). */
function withoutRootDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/** Lower case, without a dot at its end and without the brackets of an address. */
export function bareHost(hostname: string): string {
  return withoutRootDot(hostname.toLowerCase()).replace(/^\[(.*)\]$/, '$1');
}

/** Labels of 1 to 63 characters, 253 in all (RFC 1035 §2.3.4). */
export function isWellFormed(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => label.length >= 1 && label.length <= 63);
}

/** By whole labels: `notlocal.example` is an ordinary name. A single label would be completed by search domains. */
export function isInsideName(host: string): boolean {
  if (!host.includes('.') || METADATA_NAMES.has(host)) return true;
  return RESERVED_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}
