import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { UnprovenSockets } from '../../src/agent/unproven-sockets.ts';
import { createClientAddress } from '../../src/limits/client-address.ts';

/** As much of a socket as is looked at. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  isDestroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

const asSocket = (fake: FakeSocket): Socket => fake as unknown as Socket;

function aBench(front?: string) {
  const trust = front === undefined ? undefined : ({ kind: 'addresses', addresses: [front] } as const);
  const sockets = new UnprovenSockets(createClientAddress(trust, () => undefined));
  const open = (address: string): FakeSocket => {
    const fake = new FakeSocket(address);
    sockets.add(asSocket(fake));
    return fake;
  };
  return {
    sockets,
    open,
    openMany: (count: number, address: string) => Array.from({ length: count }, () => open(address)),
  };
}

const endedOf = (all: readonly FakeSocket[]): number => all.filter(({ isDestroyed }) => isDestroyed).length;

describe('sockets over which nobody known has come', () => {
  it('are a thousand of one address; then the oldest goes, and not the newest', () => {
    const { sockets, openMany, open } = aBench();
    const all = openMany(1_000, '192.0.2.1');
    const other = open('192.0.2.2');
    expect(endedOf(all)).toBe(0);
    const newest = open('192.0.2.1');
    expect([all[0]?.isDestroyed, endedOf(all), newest.isDestroyed, other.isDestroyed]).toEqual([true, 1, false, false]);
    expect(sockets.size).toBe(1_001);
  });

  it('count no more once somebody with a good key has asked over them', () => {
    const { sockets, open, openMany } = aBench();
    const good = open('192.0.2.1');
    sockets.proved(asSocket(good));
    openMany(5_000, '192.0.2.1');
    expect([good.isDestroyed, sockets.size]).toEqual([false, 1_000]);
  });

  it('of a whole IPv6 network count together', () => {
    const { open } = aBench();
    const all = Array.from({ length: 1_001 }, (_, n) => open(`2001:db8:0:1::${n.toString(16)}`));
    expect(endedOf(all)).toBe(1);
  });

  it('are twenty thousand of all addresses', () => {
    const { sockets, open } = aBench();
    const all = Array.from({ length: 25_000 }, (_, n) => open(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`));
    expect([sockets.size, endedOf(all), all[4_999]?.isDestroyed, all[5_000]?.isDestroyed]).toEqual([
      20_000,
      5_000,
      true,
      false,
    ]);
  });

  it('are forgotten when they close', () => {
    const { sockets, openMany } = aBench();
    for (const socket of openMany(500, '192.0.2.1')) socket.destroy();
    expect(sockets.size).toBe(0);
  });

  it('are not counted where they come from a front, which carries everybody', () => {
    const { sockets, openMany } = aBench('10.0.0.1');
    expect(endedOf(openMany(3_000, '10.0.0.1'))).toBe(0);
    expect(sockets.size).toBe(0);
  });
});
