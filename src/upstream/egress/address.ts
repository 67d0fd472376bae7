// Addresses as numbers, so that a range is a comparison. Only the spelling that the system itself prints
// is read: anything else is refused, never read again in another way.
import { isIPv4, isIPv6 } from 'node:net';

export interface Address {
  readonly family: 4 | 6;
  /** 32 or 128 bits. */
  readonly value: bigint;
}

export interface AddressRange {
  readonly family: 4 | 6;
  /** The bits of the prefix, without those of the host. */
  readonly prefix: bigint;
  readonly hostBits: bigint;
}

/** Undefined for what is no address, has a zone, or is spelt in another way than the canonical one (RFC 5952). */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, value: valueOf4(text) };
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const canonical = canonical6(text);
  // A system prints the last 32 bits of some addresses with dots; those forms are all refused anyway.
  if (text.toLowerCase() !== canonical && !text.includes('.')) return undefined;
  return { family: 6, value: valueOf6(canonical) };
}

/** `10.0.0.0/8`; the address may have bits below the prefix, and be spelt in any way. Throws for what is no range. */
export function parseRange(text: string): AddressRange {
  const [address = '', length = ''] = text.split('/');
  const family = isIPv4(address) ? 4 : 6;
  const value = family === 4 ? valueOf4(address) : valueOf6(canonical6(address));
  const hostBits = BigInt((family === 4 ? 32 : 128) - Number(length));
  if (!/^\d{1,3}$/.test(length) || hostBits < 0n) throw new Error(`${text} is no range of addresses.`);
  return { family, prefix: value >> hostBits, hostBits };
}

export function isWithin(address: Address, range: AddressRange): boolean {
  return address.family === range.family && address.value >> range.hostBits === range.prefix;
}

function valueOf4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

/** Lower case, shortest, without dots. */
function canonical6(text: string): string {
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

function valueOf6(canonical: string): bigint {
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const zeros = new Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
