// A TCP proxy before the database whose cable can be pulled: packets vanish, and no side is told.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CuttableProxy {
  readonly url: string;
  /** Connections that exist now go silent for ever; new ones work. */
  cut(): void;
  /** How many connections were ever made. */
  readonly connections: number;
  close(): Promise<void>;
}

export async function createCuttableProxy(databaseUrl: string): Promise<CuttableProxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(Number(target.port), target.hostname);
    pairs.add({ near, far });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.pipe(far);
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  return {
    url: url.href,
    cut() {
      for (const { near, far } of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    get connections() {
      return connections;
    },
    async close() {
      for (const { near, far } of pairs) {
        near.destroy();
        far.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
