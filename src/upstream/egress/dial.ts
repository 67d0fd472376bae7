// The one call in the product that opens a socket to the outside. It is given an address, never a name.
import { connect, isIPv6, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { DuplexOptions } from 'node:stream';
import type { Clock } from '../../shared/clock.ts';

export interface DialTarget {
  /** A checked address. */
  readonly address: string;
  readonly port: number;
  readonly withinMs: number;
}

/** Resolves with a connected socket; rejects with a system error. */
export type Dial = (target: DialTarget) => Promise<Socket>;

const KEEP_ALIVE_MS = 60_000;
/** As much as one read of the system brings: with less, a large answer stops the socket after each. */
const READ_AHEAD_BYTES = 64 * 1024;

export function createNetDial(clock: Clock): Dial {
  return ({ address, port, withinMs }) =>
    new Promise((resolve, reject) => {
      // No second family and no second address: only the one that was checked.
      const where = { host: address, port, family: isIPv6(address) ? 6 : 4, autoSelectFamily: false };
      // Types of Node leave out what goes on to the stream.
      const options: TcpNetConnectOpts & DuplexOptions = { ...where, highWaterMark: READ_AHEAD_BYTES };
      const socket = connect(options);
      const giveUp = clock.after(withinMs, () => socket.destroy(timedOut()));
      const onError = (error: Error): void => {
        giveUp();
        reject(error);
      };
      socket.once('error', onError);
      socket.once('connect', () => {
        giveUp();
        socket.off('error', onError);
        resolve(socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS));
      });
    });
}

function timedOut(): Error {
  return Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' });
}
