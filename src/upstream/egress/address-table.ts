// Which addresses are public. IPv4: everything outside the special-purpose registry; also the entries that
// registry calls globally reachable, for nothing of ours lives there. IPv6 the other way round: only what is
// given out as global unicast, so that every form which carries an IPv4 address in it, and all space that
// is not given out yet, is refused without being taken apart. (IANA special-purpose registries, RFC 6890.)
import { type Address, type AddressRange, isWithin, parseRange } from './address.ts';

/** Words for the log. */
const REFUSED_4: readonly (readonly [range: string, name: string])[] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private use'],
  ['100.64.0.0/10', 'shared address space'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link local, cloud metadata'],
  ['172.16.0.0/12', 'private use'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'AMT'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private use'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved, broadcast'],
  // Looks like any public address and answers on every machine of that cloud.
  ['168.63.129.16/32', 'platform address of Azure'],
];

const REFUSED_6: readonly (readonly [range: string, name: string])[] = [
  ['2001::/23', 'protocol assignments, Teredo'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
];

const GLOBAL_UNICAST = parseRange('2000::/3');
/** RFC 6052 §2.1. */
const NAT64 = parseRange('64:ff9b::/96');
/** RFC 5214 §6.1: the first half of an interface id that carries an IPv4 address, with and without the global bit. */
const ISATAP = new Set([0x0000_5efen, 0x0200_5efen]);

const TABLE: readonly { readonly range: AddressRange; readonly name: string }[] = [...REFUSED_4, ...REFUSED_6].map(
  ([range, name]) => ({ range: parseRange(range), name }),
);

/** The IPv4 address in it (RFC 6052 §2.2); every other address as it is. */
export function throughNat64(address: Address): Address {
  return isWithin(address, NAT64) ? { family: 4, value: address.value & 0xffff_ffffn } : address;
}

export interface AddressOptions {
  /** The host reaches IPv4 through NAT64 and DNS64: then the embedded address counts. */
  readonly nat64: boolean;
}

/** Why the address is not public, in a few words for the log; undefined when it is. */
export function refusalOf(address: Address, { nat64 }: AddressOptions): string | undefined {
  if (nat64 && isWithin(address, NAT64)) return refusalOf(throughNat64(address), { nat64: false });
  if (address.family === 6) {
    if (!isWithin(address, GLOBAL_UNICAST)) return 'outside global unicast';
    if (ISATAP.has((address.value >> 32n) & 0xffff_ffffn)) return 'ISATAP';
  }
  return TABLE.find(({ range }) => isWithin(address, range))?.name;
}
