// A TCP door before a server that can be shut and opened again at the same address, as when a server is replaced.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface SwitchedDoor {
  readonly url: string;
  /** From now on connections are refused; those that exist are reset. */
  shut(): Promise<void>;
  open(targetUrl: string): Promise<void>;
  close(): Promise<void>;
}

export async function createSwitchedDoor(targetUrl: string): Promise<SwitchedDoor> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  const open = async (target: string): Promise<void> => {
    const { hostname, port: targetPort } = new URL(target);
    server = createServer((near) => {
      const far = connect(Number(targetPort), hostname);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address !== null && typeof address === 'object') port = address.port;
  };
  const shut = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    for (const socket of sockets) socket.resetAndDestroy();
    if (closing === undefined) return;
    closing.close();
    await once(closing, 'close');
  };
  await open(targetUrl);
  const url = new URL(targetUrl);
  url.port = String(port);
  return { url: url.href, shut, open, close: shut };
}
