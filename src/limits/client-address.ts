// Where a request comes from, for counting: the other end of the socket, unless that is a front the operator
// named; then what the front says. Anybody can write a header, so no other word counts.
import { BlockList, isIP, isIPv4 } from 'node:net';

/** How many fronts stand before us, or which; undefined when none does. */
export type TrustProxy =
  | { readonly kind: 'hops'; readonly hops: number }
  /** Addresses and CIDR blocks. */
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] };

/** What is needed of a request. */
export interface Arrival {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface ClientAddress {
  /** One text for all who share an IPv4 address, or an IPv6 network of 64 bits. */
  of(arrival: Arrival): string;
  /** Whether the other end of a socket is such a front; its sockets are other people's. */
  isFront(peer: string | undefined): boolean;
}

/** A socket that is gone has no address any more. */
const NOWHERE = 'unknown';

/** @param onIgnored told when a header came that nobody is trusted to write */
export function createClientAddress(trust: TrustProxy | undefined, onIgnored: () => void): ClientAddress {
  const fronts = trust?.kind === 'addresses' ? blockListOf(trust.addresses) : undefined;
  const isTrusted = (address: string): boolean => fronts?.check(address, isIPv4(address) ? 'ipv4' : 'ipv6') === true;
  return {
    of({ socket, headers }) {
      const peer = plain(socket.remoteAddress ?? '');
      const said = headers['x-forwarded-for'];
      if (said === undefined) return countedAs(peer);
      const chain = String(said).split(',');
      if (trust?.kind === 'hops') return countedAs(plain(chain[Math.max(0, chain.length - trust.hops)] ?? '') ?? peer);
      if (peer === undefined || !isTrusted(peer)) {
        onIgnored();
        return countedAs(peer);
      }
      return countedAs(beforeFronts(peer, chain, isTrusted));
    },
    isFront(peer) {
      if (trust?.kind === 'hops') return true;
      const address = plain(peer ?? '');
      return address !== undefined && isTrusted(address);
    },
  };
}

/** From our end of the chain: the first who is no front of ours. What stands before was written by others. */
function beforeFronts(peer: string, chain: readonly string[], isTrusted: (address: string) => boolean): string {
  let address = peer;
  for (let at = chain.length - 1; at >= 0 && isTrusted(address); at--) {
    const next = plain(chain[at] ?? '');
    // What a front wrote is no address: it is the last of which anything is known.
    if (next === undefined) return address;
    address = next;
  }
  return address;
}

/** Without port, brackets and zone; IPv4 inside IPv6 as IPv4. Undefined for what is no address. */
function plain(text: string): string | undefined {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const withPort = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(trimmed)?.[1];
  const address = (bracketed ?? withPort ?? trimmed).replace(/%.*$/s, '').toLowerCase();
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? dotted(groups[6] ?? 0, groups[7] ?? 0) : address;
}

/** A provider gives each customer 64 bits at least, so a single address of IPv6 is nobody in particular. */
function countedAs(address: string | undefined): string {
  if (address === undefined) return NOWHERE;
  if (isIPv4(address)) return address;
  const network = groupsOf(address).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
}

/** The eight numbers of a valid IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => `${hex(+a * 256 + +b)}:${hex(+c * 256 + +d)}`)
    .split('::');
  const numbers = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [first, last] = [numbers(head), numbers(tail ?? '')];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

const hex = (number: number): string => number.toString(16);
const dotted = (high: number, low: number): string =>
  [high >> 8, high & 255, low >> 8, low & 255].map((byte) => byte.toString()).join('.');

function blockListOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of addresses) {
    const [address = '', length] = text.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return list;
}
