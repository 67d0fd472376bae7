// A TCP proxy before the database that counts how often the one side waits for the other: what is sent together and
// answered together is one turn, however many statements it holds.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CountingProxy {
  readonly url: string;
  /** Of all connections, since the last time it was asked. */
  turns(): number;
  close(): Promise<void>;
}

export async function createCountingProxy(databaseUrl: string): Promise<CountingProxy> {
  const url = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let turns = 0;
  const server = createServer((near) => {
    const far = connect(Number(new URL(databaseUrl).port), url.hostname);
    let isAnswered = true;
    near.on('data', () => {
      if (isAnswered) turns += 1;
      isAnswered = false;
    });
    far.on('data', () => {
      isAnswered = true;
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url.port = String(address.port);
  return {
    url: url.href,
    turns() {
      const sofar = turns;
      turns = 0;
      return sofar;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
