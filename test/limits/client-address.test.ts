import { describe, expect, it } from 'vitest';
import { createClientAddress, type TrustProxy } from '../../src/limits/client-address.ts';

const fronts = (...addresses: string[]): TrustProxy => ({ kind: 'addresses', addresses });

function addressOf(peer: string | undefined, said?: string | readonly string[], trust?: TrustProxy): string {
  const headers = said === undefined ? {} : { 'x-forwarded-for': said };
  return createClientAddress(trust, () => undefined).of({ socket: { remoteAddress: peer }, headers });
}

describe('the address that counts', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    [undefined, 'unknown'],
  ])('of the peer %s is %s: one IPv4 address, or 64 bits of IPv6', (peer, counted) => {
    expect(addressOf(peer)).toBe(counted);
  });

  it.each(['203.0.113.1', '10.0.0.1', '2001:db8::9', 'x', '', '203.0.113.1, 10.0.0.1'])(
    'is the peer, whatever X-Forwarded-For says, unless a front was named: %j',
    (said) => {
      expect(addressOf('192.0.2.7', said)).toBe('192.0.2.7');
      expect(addressOf('192.0.2.7', said, fronts('10.0.0.0/8'))).toBe('192.0.2.7');
    },
  );

  it.each([
    ['203.0.113.1', '203.0.113.1'],
    ['198.51.100.1, 203.0.113.1', '203.0.113.1'],
    ['198.51.100.1,203.0.113.1 , 10.9.9.9', '203.0.113.1'],
    ['10.1.1.1, 203.0.113.1', '203.0.113.1'],
    ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['203.0.113.1:4711', '203.0.113.1'],
    ['[2001:db8:5:6::1]:4711', '2001:db8:5:6::/64'],
    ['2001:db8:5:6::1', '2001:db8:5:6::/64'],
    ['::ffff:203.0.113.1', '203.0.113.1'],
    // What a front passed on but cannot have seen as an address: only the front itself is known.
    ['203.0.113.1, unknown', '10.0.0.1'],
    ['203.0.113.1, unknown, 10.3.3.3', '10.3.3.3'],
    ['', '10.0.0.1'],
  ])('behind a front that was named is the last one who is no front: %j', (said, counted) => {
    expect(addressOf('10.0.0.1', said, fronts('10.0.0.0/8'))).toBe(counted);
    expect(addressOf('::ffff:10.0.0.1', said, fronts('10.0.0.0/8'))).toBe(counted);
  });

  it('is the front itself when that says nothing', () => {
    expect(addressOf('10.0.0.1', undefined, fronts('10.0.0.1'))).toBe('10.0.0.1');
  });

  it('takes fronts of IPv6 too', () => {
    expect(addressOf('fd00::5', '203.0.113.1', fronts('fd00::/8'))).toBe('203.0.113.1');
    expect(addressOf('fe00::5', '203.0.113.1', fronts('fd00::/8'))).toBe('fe00:0:0:0::/64');
  });

  it.each([
    [1, '198.51.100.1, 203.0.113.1', '203.0.113.1'],
    [2, '198.51.100.1, 203.0.113.1', '198.51.100.1'],
    [2, '1.1.1.1, 198.51.100.1, 203.0.113.1', '198.51.100.1'],
    [3, '203.0.113.1', '203.0.113.1'],
    [1, 'nonsense', '10.0.0.1'],
    [1, undefined, '10.0.0.1'],
  ])('behind %i fronts counts that many from the end of %j', (hops, said, counted) => {
    expect(addressOf('10.0.0.1', said, { kind: 'hops', hops })).toBe(counted);
  });

  it('tells when a header came that nobody is trusted to write', () => {
    let ignored = 0;
    const clients = createClientAddress(fronts('10.0.0.1'), () => ignored++);
    clients.of({ socket: { remoteAddress: '10.0.0.1' }, headers: { 'x-forwarded-for': '203.0.113.1' } });
    clients.of({ socket: { remoteAddress: '192.0.2.7' }, headers: {} });
    expect(ignored).toBe(0);
    clients.of({ socket: { remoteAddress: '192.0.2.7' }, headers: { 'x-forwarded-for': '203.0.113.1' } });
    expect(ignored).toBe(1);
  });

  it('knows which peers are fronts', () => {
    const named = createClientAddress(fronts('10.0.0.0/8'), () => undefined);
    expect(['10.0.0.1', '::ffff:10.0.0.1', '192.0.2.7', undefined].map((peer) => named.isFront(peer))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(createClientAddress({ kind: 'hops', hops: 1 }, () => undefined).isFront('192.0.2.7')).toBe(true);
    expect(createClientAddress(undefined, () => undefined).isFront('127.0.0.1')).toBe(false);
  });
});
