// The table for the whole space, held against two others: one written down here the other way round, as the
// blocks that are public, and the library's, which knows fewer refusals and must never know one that we lack.
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { type Address, isWithin, parseAddress, parseRange } from '../../../src/upstream/egress/address.ts';
import { refusalOf } from '../../../src/upstream/egress/address-table.ts';

const PLAIN = { nat64: false };
const isPublic = (text: string, options = PLAIN): boolean => {
  const address = parseAddress(text);
  return address !== undefined && refusalOf(address, options) === undefined;
};

const text4 = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
const text6 = (value: bigint): string =>
  new URL(
    `http://[${Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')}]`,
  ).hostname.slice(1, -1);

/** First and last public address of each stretch of IPv4, in order; everything between two stretches is refused. */
const PUBLIC_4: readonly (readonly [first: string, last: string])[] = [
  ['1.0.0.0', '9.255.255.255'],
  ['11.0.0.0', '100.63.255.255'],
  ['100.128.0.0', '126.255.255.255'],
  ['128.0.0.0', '168.63.129.15'],
  ['168.63.129.17', '169.253.255.255'],
  ['169.255.0.0', '172.15.255.255'],
  ['172.32.0.0', '191.255.255.255'],
  ['192.0.1.0', '192.0.1.255'],
  ['192.0.3.0', '192.31.195.255'],
  ['192.31.197.0', '192.52.192.255'],
  ['192.52.194.0', '192.88.98.255'],
  ['192.88.100.0', '192.167.255.255'],
  ['192.169.0.0', '192.175.47.255'],
  ['192.175.49.0', '198.17.255.255'],
  ['198.20.0.0', '198.51.99.255'],
  ['198.51.101.0', '203.0.112.255'],
  ['203.0.114.0', '223.255.255.255'],
];
const number4 = (text: string): number => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const stretches = PUBLIC_4.map(([first, last]) => [number4(first), number4(last)] as const);
const isPublic4 = (value: number): boolean => stretches.some(([first, last]) => value >= first && value <= last);

describe('IPv4', () => {
  it('is public in exactly the stretches between the special blocks: every edge', () => {
    for (const [first, last] of stretches) {
      expect([text4(first), isPublic(text4(first))]).toEqual([text4(first), true]);
      expect([text4(last), isPublic(text4(last))]).toEqual([text4(last), true]);
      for (const beyond of [first - 1, last + 1])
        if (beyond >= 0 && beyond < 2 ** 32)
          expect([text4(beyond), isPublic(text4(beyond))]).toEqual([text4(beyond), false]);
    }
  });

  it('is public in exactly these stretches: anywhere', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => isPublic(text4(value)) === isPublic4(value)),
      { numRuns: 20_000 },
    );
  });

  it('is public nowhere that the library refuses', () => {
    // Two that it calls by a name of their own were given back to ordinary use.
    fc.assert(
      fc.property(fc.ipV4(), (text) => !isPublic(text) || ipaddr.parse(text).range() === 'unicast'),
      { numRuns: 20_000 },
    );
  });
});

/** By the first groups, written without our ranges. */
function isPublic6(value: bigint): boolean {
  const group = (at: number): number => Number((value >> BigInt(112 - 16 * at)) & 0xffffn);
  const [a, b, c] = [group(0), group(1), group(2)];
  if (a < 0x2000 || a > 0x3fff) return false;
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false;
  if (a === 0x2002) return false;
  if (a === 0x2620 && b === 0x4f && c === 0x8000) return false;
  if (a === 0x3fff && b < 0x1000) return false;
  return !((group(4) === 0 || group(4) === 0x0200) && group(5) === 0x5efe);
}

const GROUPS_OF_INTEREST = [
  0, 1, 0x64, 0x100, 0x1fff, 0x2000, 0x2001, 0x2002, 0x2003, 0x2620, 0x3ffe, 0x3fff, 0x4000, 0x5f00, 0xfc00, 0xfe80,
  0xfec0, 0xff00, 0xff9b, 0xffff, 0x1ff, 0x200, 0xdb7, 0xdb8, 0xdb9, 0x4f, 0x7fff, 0x8000, 0x8001, 0xfff, 0x1000,
  0x5efe,
];
const group = fc.oneof(fc.constantFrom(...GROUPS_OF_INTEREST), fc.integer({ min: 0, max: 0xffff }));
const anyAddress6 = fc
  .array(group, { minLength: 8, maxLength: 8 })
  .map((groups) => groups.reduce((value, part) => (value << 16n) | BigInt(part), 0n));

describe('IPv6', () => {
  it('is public in global unicast without its special blocks: anywhere, and near every edge', () => {
    fc.assert(
      fc.property(anyAddress6, (value) => isPublic(text6(value)) === isPublic6(value)),
      { numRuns: 20_000 },
    );
  });

  it('is public nowhere that the library refuses', () => {
    fc.assert(
      fc.property(anyAddress6, (value) => !isPublic(text6(value)) || ipaddr.parse(text6(value)).range() === 'unicast'),
      { numRuns: 20_000 },
    );
  });

  it('B236, B237, B238: with an IPv4 address in it is refused in every form, whatever that address is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (four) => {
        const low = BigInt(four);
        const forms = [
          low, // compatible
          (0xffffn << 32n) | low, // mapped
          (0xffffn << 48n) | low, // translated
          (0x64ff9bn << 96n) | low, // NAT64
          (0x64ff9b0001n << 80n) | low, // NAT64, local use
          (0x2002n << 112n) | (low << 80n), // 6to4
          (0x20010000n << 96n) | low, // Teredo
          (0x2606470047000000n << 64n) | (0x5efen << 32n) | low, // ISATAP
        ];
        return forms.every((value) => !isPublic(text6(value)));
      }),
    );
  });

  it('through NAT64 is as public as the address in it, where the operator says that this host needs it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (four) => {
        const value = text6((0x64ff9bn << 96n) | BigInt(four));
        return isPublic(value, { nat64: true }) === isPublic4(four);
      }),
    );
  });
});

describe('an address', () => {
  it('is read in the spelling of the system only', () => {
    for (const text of [
      '127.1',
      '0x7f.0.0.1',
      '010.0.0.1',
      '1.2.3',
      '1.2.3.4.5',
      '',
      ' 1.1.1.1',
      '1.1.1.1 ',
      'fe80::1%eth0',
      '2606:4700:4700:0:0:0:0:1111',
      '2606:4700:4700::01',
      '[::1]',
      '::ffff:8.8.8.8/96',
      '2606::4700::1',
    ])
      expect([text, parseAddress(text)]).toEqual([text, undefined]);
    expect(parseAddress('2606:4700:4700::1111')?.family).toBe(6);
  });

  it('lies in a range exactly when its first bits are those of the range', () => {
    const range = parseRange('10.1.2.3/12');
    const address = (text: string): Address => parseAddress(text) as Address;
    expect(['10.0.0.0', '10.15.255.255'].every((text) => isWithin(address(text), range))).toBe(true);
    expect(['9.255.255.255', '10.16.0.0', '::a01:203'].some((text) => isWithin(address(text), range))).toBe(false);
    expect(isWithin(address('8.8.8.8'), parseRange('0.0.0.0/0'))).toBe(true);
    for (const text of ['10.0.0.0', '10.0.0.0/33', 'x/8', '10.0.0.0/-1']) expect(() => parseRange(text)).toThrow();
  });
});
