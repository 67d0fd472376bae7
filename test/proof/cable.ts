// A TCP cable between the proxy and an upstream that can be cut: both ends see their connections reset.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Cable {
  /** Of the upstream, as seen through the cable. */
  readonly url: string;
  /** Connections that exist now are gone; new ones work. Resolves when both ends have been told. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export async function openCable(upstreamUrl: string): Promise<Cable> {
  const target = new URL(upstreamUrl);
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    for (const socket of [near, far]) keep(socket);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The cable has no port');
  const url = new URL(upstreamUrl);
  url.port = String(address.port);
  const cut = async (): Promise<void> => {
    const closed = [...open].map((socket) => once(socket, 'close'));
    for (const socket of open) socket.resetAndDestroy();
    await Promise.all(closed);
  };
  return {
    url: url.href,
    cut,
    async close() {
      server.close();
      await cut();
    },
  };
}
