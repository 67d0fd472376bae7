// One connection that listens, until it is lost; it asks for a sign of life, because a half-open
// connection raises no error and says nothing for ever.

import { Socket } from 'node:net';
import pg from 'pg';
import type { Clock } from '../shared/clock.ts';
import { OwnError } from '../shared/errors.ts';
import { asAppRole } from './app-role.ts';

const CHANNEL = 'keybearer';
const CONNECT_TIMEOUT_MS = 5_000;
const PROBE_EVERY_MS = 20_000;
const PROBE_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;

export interface Listening {
  /** Settles when the connection is gone, with the reason; never rejects. */
  readonly lost: Promise<Error>;
  close(): Promise<void>;
}

/** Needs a direct connection: a transaction pooler gives the subscribed session to others. */
export async function listen(url: string, clock: Clock, onNotice: (payload: string) => void): Promise<Listening> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: asAppRole(url),
    application_name: 'keybearer listen',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    stream: () => socket,
  });
  const lost = new Promise<Error>((resolve) => {
    client.once('error', resolve);
    client.once('end', () => resolve(new OwnError('the listening connection ended')));
  });
  client.on('error', () => undefined);
  client.on('notification', ({ payload }) => onNotice(payload ?? ''));
  try {
    await client.connect();
    await bounded(client.query(`LISTEN ${CHANNEL}`), clock, PROBE_TIMEOUT_MS, socket);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  const stopProbing = clock.every(PROBE_EVERY_MS, () => {
    // A failed probe shows as the lost connection that it is.
    bounded(client.query('SELECT 1'), clock, PROBE_TIMEOUT_MS, socket).catch(() => undefined);
  });
  void lost.then(stopProbing);
  return {
    lost,
    async close() {
      stopProbing();
      await bounded(client.end(), clock, CLOSE_TIMEOUT_MS, socket);
    },
  };
}

/** When the time is over the socket is cut, which settles whatever waits on it. */
async function bounded<T>(answer: Promise<T>, clock: Clock, ms: number, socket: Socket): Promise<T> {
  const cancel = clock.after(ms, () => socket.destroy());
  return answer.finally(cancel);
}
